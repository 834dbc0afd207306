"""What goes between the holder of a virtual asset and the owners of its batteries, from either side."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.revenue.test_scope import END, FIRST, make_scope

from gridloom.revenue.statement import loading
from gridloom.revenue.statement.loading import PartyAmounts, entries_between_parties, physical_entries
from gridloom.revenue.statement.model import LineType, Party, StatementEntry
from gridloom.revenue.statement.shortfalls import ShortfallAmounts
from gridloom.revenue.statement.store import BatteryOwner

pytestmark = pytest.mark.pure

NOTHING: Any = None
AS_OF = datetime(2026, 4, 1, tzinfo=UTC)
HOLDER, ONE, OTHER = (UUID(int=number) for number in (1, 2, 3))
ASSET: Any = SimpleNamespace(key=7, organisation_id=HOLDER)


def in_first_period(amount_eur: float) -> Any:
    return np.array([amount_eur, *[0.0] * (END - FIRST - 1)])


AMOUNTS = PartyAmounts(
    [(LineType.AUCTION, np.array([0, -101])), (LineType.END_OF_LIFE, np.array([0, 202]))],
    {11: np.array([0, 50])},
    ShortfallAmounts(in_first_period(3.0), {10: in_first_period(2.0)}),
)
"""One euro of the shortfall was announced in time."""


def shown(entries: Sequence[StatementEntry]) -> list[tuple[str, str, int]]:
    return [(one.line, one.counterparty, int(one.by_bucket[0])) for one in entries]


class TestAmountsBetweenParties:
    @pytest.fixture(autouse=True)
    def amounts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def load_party_amounts(db: Any, scope: Any, asset: Any, inputs: Any) -> PartyAmounts:
            return AMOUNTS

        async def read_drift_eur(db: Any, key: int, first: int, end: int, as_of: Any) -> Any:
            assert as_of == AS_OF
            return np.zeros(end - first)

        async def load_owner_imbalance(db: Any, scope: Any, key: int, performance: Any) -> StatementEntry:
            return StatementEntry(LineType.IMBALANCE, Party.GRID_OPERATOR, np.array([0, 9]))

        monkeypatch.setattr(loading, "load_party_amounts", load_party_amounts)
        monkeypatch.setattr(loading, "read_drift_eur", read_drift_eur)
        monkeypatch.setattr(loading, "_load_owner_imbalance", load_owner_imbalance)

    @pytest.fixture
    def scope(self) -> Any:
        scope: Any = make_scope({})
        object.__setattr__(scope, "owners", {7: [BatteryOwner(10, ONE, 0.25), BatteryOwner(11, OTHER, 0.75)]})
        object.__setattr__(scope, "tolls", {})
        object.__setattr__(scope, "as_of", AS_OF)
        return scope

    async def test_are_of_the_holder_with_each_owner_by_share_or_battery(self, scope: Any) -> None:
        assert shown(await entries_between_parties(NOTHING, scope, ASSET, NOTHING)) == [
            ("AUCTION", str(ONE), -25),
            ("AUCTION", str(OTHER), -76),
            ("END_OF_LIFE", str(ONE), 50),
            ("END_OF_LIFE", str(OTHER), 152),
            ("AVAILABILITY", str(OTHER), 50),
            ("RESERVE_SHORTFALL", "GRID_OPERATOR", -300),
            ("RESERVE_SHORTFALL", str(ONE), 200),
        ]

    async def test_are_of_each_owner_the_same_the_other_way_round(self, scope: Any) -> None:
        balance, holder = ("IMBALANCE", "GRID_OPERATOR", 9), str(HOLDER)
        assert shown(await physical_entries(NOTHING, scope, 10, [(ASSET, AMOUNTS)])) == [
            balance,
            ("AUCTION", holder, 25),
            ("END_OF_LIFE", holder, -50),
            ("RESERVE_SHORTFALL", holder, -200),
        ]
        assert shown(await physical_entries(NOTHING, scope, 11, [(ASSET, AMOUNTS)])) == [
            balance,
            ("AUCTION", holder, 76),
            ("END_OF_LIFE", holder, -152),
            ("AVAILABILITY", holder, -50),
        ]


class TestTheImbalanceOfAHolder:
    @pytest.mark.parametrize("as_of", [None, AS_OF])
    async def test_is_of_the_part_of_its_life_in_the_market_days_and_as_of_the_instant_of_the_statement(
        self, monkeypatch: pytest.MonkeyPatch, as_of: datetime | None
    ) -> None:
        asked: list[Any] = []

        async def load_open_position(db: Any, asset: Any, low: int, high: int, facts: Any, *more: Any) -> str:
            asked.append((asset.key, low, high, facts.price_eur_mwh.tolist(), *more))
            return "position"

        monkeypatch.setattr(loading, "load_open_position", load_open_position)
        scope: Any = make_scope({7: {}})
        for name, value in (("imbalance_price_eur_mwh", np.arange(92.0)), ("cuts", {}), ("as_of", as_of)):
            object.__setattr__(scope, name, value)

        def living(born: int, dead: int) -> Any:
            return SimpleNamespace(key=7, clip=lambda first, end: (max(first, born), min(end, dead)))

        inputs: Any = SimpleNamespace(powers={7: "powers"})
        found: Any = await loading.load_open(NOTHING, scope, living(FIRST + 89, END + 5), inputs)
        assert found == "position"
        assert asked == [(7, FIRST + 89, END, [89, 90, 91], as_of, "powers")]
        assert await loading.load_open(NOTHING, scope, living(END, END + 5), inputs) is None
