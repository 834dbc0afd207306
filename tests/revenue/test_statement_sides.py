"""What holders and owners owe each other adds up to the cent, and who is short pays the imbalance price."""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import httpx2
import pytest
from tests.revenue.reference import Trade, utc
from tests.revenue.world import World

DAY = date(2026, 5, 4)
WINDOW = {"start": utc(DAY, 0).isoformat(), "end": utc(DAY, 24).isoformat()}


async def amounts(operator: httpx2.AsyncClient, kind: str, asset: UUID, line: str) -> list[Decimal]:
    answer = await operator.get(f"/revenue-reporting/{kind}/{asset}/statement", params=WINDOW)
    assert answer.status_code == 200, answer.text
    return [Decimal(str(one["amount"])) for one in answer.json()["lines"] if one["line"] == line]


class TestAnAuctionsPrice:
    @pytest.mark.parametrize("price", [0.01, 0.03, 100.01])
    @pytest.mark.parametrize("shares", [(0.5, 0.5), (0.35, 0.65), (0.25, 0.25, 0.5)])
    async def test_is_paid_by_the_holder_and_reaches_the_owners_whole(
        self, operator: httpx2.AsyncClient, world: World, price: float, shares: tuple[float, ...]
    ) -> None:
        virtual = await world.virtual_asset(start=utc(DAY, 6), end=utc(DAY, 18))
        await world.auction(virtual, utc(DAY, 6), utc(DAY, 18), price)
        batteries = [await world.physical_asset() for _ in shares]
        backing = batteries if price == 0.03 else batteries[::-1]
        for battery, share in zip(batteries, shares, strict=True):
            await world.back(virtual, battery, share, 1 + backing.index(battery))
        paid = sum(await amounts(operator, "virtual-assets", virtual, "AUCTION"), Decimal(0))
        owned = [await amounts(operator, "physical-assets", battery, "AUCTION") for battery in batteries]
        assert paid == -Decimal(str(price))
        reached = {battery: sum(each, Decimal(0)) for battery, each in zip(batteries, owned, strict=True)}
        assert sum(reached.values()) == -paid
        if len(set(shares)) == 1:
            first, other = (reached[battery] for battery in backing)
            assert first - other == Decimal("0.01"), "the odd cent is of the first that stands behind it"


class TestImbalance:
    @pytest.mark.parametrize(("side", "amount"), [("SELL", -100), ("BUY", 100)])
    async def test_costs_who_is_short_and_pays_who_is_long(
        self, operator: httpx2.AsyncClient, world: World, side: str, amount: int
    ) -> None:
        """One MWh was traded, and nothing scheduled."""
        virtual = await world.virtual_asset(start=utc(DAY, 0), end=utc(DAY, 24))
        await world.record_facts([Trade(0, "T", utc(DAY, 12), side, Fraction(1), Fraction(50))], [virtual])
        row = {"series": "REBAP_DE", "start": utc(DAY, 12).isoformat(), "end": utc(DAY, 13).isoformat(), "price": 100}
        assert (await operator.post("/reference-prices", json=[row])).status_code == 200
        assert await amounts(operator, "virtual-assets", virtual, "IMBALANCE") == [amount]


class TestACounterparty:
    async def test_is_named_beside_its_id_in_csv_too(self, operator: httpx2.AsyncClient, world: World) -> None:
        virtual = await world.virtual_asset(start=utc(DAY, 0), end=utc(DAY, 24))
        await world.auction(virtual, utc(DAY, 0), utc(DAY, 24), 24)
        await world.back(virtual, await world.physical_asset(), 1.0)
        await world.record_facts([Trade(0, "T", utc(DAY, 12), "SELL", Fraction(1), Fraction(50))], [virtual])
        path = f"/revenue-reporting/virtual-assets/{virtual}/statement"
        lines = (await operator.get(path, params=WINDOW)).json()["lines"]
        named = [(one["counterparty"], one.get("counterpartyName")) for one in lines]
        owner = (await operator.get(f"/organisations/{world.organisation_id}")).json()
        assert (owner["id"], owner["name"]) in named
        assert all(name is None for party, name in named if party != owner["id"])
        table = (await operator.get(path, params=WINDOW, headers={"Accept": "text/csv"})).text
        rows = list(csv.DictReader(io.StringIO(table)))
        assert [(row["counterparty"], row["counterpartyName"] or None) for row in rows] == named
