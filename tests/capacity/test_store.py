"""Which rows the books of batteries are made of: those of each battery that touch the periods asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

from tests.capacity.test_capacity_json import db, new_batteries

from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency
from gridloom.capacity.store import (
    load_firm_capacity,
    write_holdings,
)

__all__ = ["db"]  # a fixture

FIRST = 1_990_080  # far from any other day, and not the first period of its market day
END = FIRST + 20


def promise(first: int = FIRST, end: int = END) -> Holding:
    kind, losses = HoldingKind.VIRTUAL_ASSET, OneWayEfficiency(0.97, 0.96)
    return Holding(kind, uuid4(), first, end, 1_000, 2_000, 3_000, losses=losses, organisation_id=uuid4())


def bid(first: int = FIRST, end: int = END, *, is_firm: bool = True) -> Holding:
    return Holding(HoldingKind.AFRR_CAPACITY, uuid4(), first, end, 0, 700, 800, is_firm, product="POS_00_04")


class TestHoldings:
    async def test_given_back_by_one_battery_stay_with_the_others_of_their_holder(self, db: Any) -> None:
        one, other = await new_batteries(db, 2)
        held, kept = promise(), bid()
        await write_holdings(db, [], [(one, held), (one, kept), (other, replace(held, charge_kw=900))])
        await write_holdings(db, [(one, held.holder_id)], [(other, bid_of_other := bid())])
        found = await load_firm_capacity(db, [one, other], FIRST, END)
        assert found[one].holdings == [kept]
        assert sorted(found[other].holdings, key=lambda holding: holding.charge_kw) == [
            bid_of_other,
            replace(held, charge_kw=900),
        ]
