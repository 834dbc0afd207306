"""What is read for a statement: of the whole market days of its window, and all of it as of the same instant."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.revenue.reference import utc

from gridloom.kernel.market_time import Resolution
from gridloom.kernel.window import Window
from gridloom.market_calendar import market_day_periods, utc_days_of
from gridloom.revenue import store
from gridloom.revenue.aggregation import DaySheets
from gridloom.revenue.grid import days_of, grid_of
from gridloom.revenue.model import AuctionResult, RatedPowerSteps, SecondsSpan, Toll
from gridloom.revenue.statement import scope
from gridloom.revenue.statement.loading import auction_cents, fact_entries, toll_cents
from gridloom.revenue.statement.model import LineType
from gridloom.revenue.statement.scope import Scope, load_scope, load_virtual_inputs
from gridloom.settlements.measures import AGGREGATED_SOURCES, POSITION, FactSource, measure_count, positions_of
from gridloom.settlements.period_aggregates import encode_aggregates
from gridloom.virtual_assets.history.store import UnannouncedCut

pytestmark = pytest.mark.pure

DAY = date(2026, 3, 29)
FIRST, END = market_day_periods(DAY)
KEYS = [7, 8]
NOTHING: Any = None


class TestAScope:
    @pytest.mark.parametrize("as_of", [None, datetime(2026, 4, 1, tzinfo=UTC)])
    async def test_is_read_as_of_one_instant(self, monkeypatch: pytest.MonkeyPatch, as_of: datetime | None) -> None:
        asked: dict[str, tuple[Any, ...]] = {}

        def note(module: Any, name: str, answer: Any) -> None:
            async def read(db: Any, *arguments: Any) -> Any:
                asked[name] = tuple(list(one) if isinstance(one, np.ndarray) else one for one in arguments)
                return answer

            monkeypatch.setattr(module, name, read)

        present = datetime(2026, 5, 1, tzinfo=UTC)
        for name in ("read_tolls", "read_auction_results", "read_ratings"):
            note(store, name, [])
        for name in ("read_stored_days", "read_period_prices", "read_owners", "read_unannounced_cuts"):
            note(scope, name, {})
        note(scope, "read_shortfalls", {})
        note(scope, "platform_now", present)
        window = Window(utc(DAY, 6), utc(DAY, 9))
        span = SecondsSpan(window.start.timestamp(), window.end.timestamp())
        found = await load_scope(NOTHING, KEYS, window, grid_of(days_of(span), Resolution.HOUR, span), as_of)
        ever = datetime(2000, 1, 1, tzinfo=UTC)
        periods = (FIRST, END)
        days = list(days_of(span))
        expected: dict[str, tuple[Any, ...]] = {
            "read_tolls": (KEYS, ever, window.end, as_of),
            "read_auction_results": (KEYS, ever, window.end, as_of),
            "read_ratings": (KEYS, as_of),
            "read_stored_days": (KEYS, days, AGGREGATED_SOURCES, as_of),
            "read_period_prices": ("REBAP_DE", *periods, as_of),
            "read_owners": (KEYS,),
            "read_unannounced_cuts": (KEYS, *periods, as_of),
            "read_shortfalls": (KEYS, *periods, as_of),
        }
        assert asked == (expected if as_of else {**expected, "platform_now": ()})
        assert (found.now, found.as_of) == (as_of or present, as_of)
        assert (found.first, found.end, found.edges.tolist()) == (*periods, [FIRST + n for n in (20, 24, 28, 32)])


def make_scope(by_asset: dict[int, Any]) -> Scope:
    """Of one market day, as one bucket."""
    fields = dict.fromkeys(("tolls", "ratings", "auctions", "owners", "cuts", "unheld"), NOTHING)
    span = SecondsSpan(utc(DAY, 0).timestamp(), utc(DAY, 24).timestamp())
    numbers = days_of(span)
    edges = np.array([FIRST, END])
    sheets = DaySheets(int(numbers[0]), by_asset)
    return Scope(frozenset(by_asset), numbers, edges, sheets, imbalance_price_eur_mwh=NOTHING, now=NOTHING, **fields)


class TestAmounts:
    def test_are_rounded_since_midnight_and_cut_at_the_edges(self) -> None:
        """Of three quarters of a cent in each quarter-hour."""
        edges = np.array([FIRST + 4, FIRST + 5, FIRST + 7, END])
        scope = replace(make_scope({}), edges=edges)
        amounts = np.full(END - FIRST, 0.0075)
        assert scope.until(amounts).tolist() == [3, 4, 5, 69]
        assert scope.by_bucket(amounts) == pytest.approx(np.array([0.0075, 0.015, 85 * 0.0075]))

    def test_of_tolls_and_auctions_count_from_their_start_whatever_the_window(self) -> None:
        """An hour of the toll is 33.4 cents, and one of the auction a third of a euro."""
        start_s = utc(DAY, 0).timestamp()
        rating = RatedPowerSteps(np.array([start_s]), np.array([10.0]))
        scope = replace(
            make_scope({}),
            edges=np.array([FIRST + 4, FIRST + 8, FIRST + 16]),
            tolls={7: [Toll(7, SecondsSpan(start_s, start_s + 3 * 3600), 8760 * 0.0334)]},
            auctions={7: AuctionResult(7, SecondsSpan(start_s, start_s + 3 * 3600), 1.0, None)},
            ratings={7: rating},
        )
        tolls, auction = toll_cents(scope, 7), auction_cents(scope, 7)
        assert tolls is not None
        assert tolls.tolist() == [33, 67, 100]
        assert auction is not None
        assert auction.tolist() == [33, 67, 100]
        assert toll_cents(scope, 8) is auction_cents(scope, 8) is None


class TestFacts:
    def test_of_some_periods_are_cut_from_those_of_the_days(self) -> None:
        """Trades on the first of two days, and activations on the second; another asset has none."""
        span = SecondsSpan(utc(DAY, 0).timestamp(), utc(DAY + timedelta(days=1), 24).timestamp())
        numbers = days_of(span)

        def sheet(source: FactSource, count: int, name: str) -> bytes:
            values = np.zeros((measure_count(source), count))
            values[POSITION[name] - positions_of(source).start] = np.arange(count)
            encoded = encode_aggregates(source, values)
            assert encoded is not None
            return encoded

        own = {
            FactSource.WHOLESALE: [sheet(FactSource.WHOLESALE, 92, "sell_volume_mwh"), None],
            FactSource.AFRR_ENERGY: [None, sheet(FactSource.AFRR_ENERGY, 96, "afrr_pos_volume_mwh")],
        }
        scope = replace(
            make_scope({7: own}),
            keys=frozenset({7, 8}),
            numbers=numbers,
            cuts={7: [UnannouncedCut(FIRST + 91, -500), UnannouncedCut(FIRST + 95, 9)]},
            imbalance_price_eur_mwh=np.arange(188.0),
        )
        assert scope.end == FIRST + 188
        facts, none = scope.facts_of(7, FIRST + 90, FIRST + 95), scope.facts_of(8, FIRST + 90, FIRST + 95)
        assert facts is not None
        assert facts.volumes.sold_mwh.tolist() == [90, 91, 0, 0, 0]
        assert facts.volumes.activated_mwh.tolist() == [0, 0, 0, 1, 2]
        assert facts.unannounced_kw.tolist() == [0, -500, 0, 0, 0]
        assert facts.price_eur_mwh.tolist() == [90, 91, 92, 93, 94]
        assert none is not None, "it has none, which is known"
        assert [none.volumes.sold_mwh.any(), none.unannounced_kw.any()] == [False, False]
        assert scope.facts_of(9, FIRST + 90, FIRST + 95) is None


class TestInputsOfVirtualAssets:
    async def test_are_shortfalls_as_of_the_instant_and_schedules_of_the_present_alone(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[Any] = []

        async def load_shortfalls_of_each(db: Any, assets: Any, first: int, end: int, now: datetime) -> Any:
            asked.append(([one.key for one in assets], first, end, now))
            return {7: "short"}

        async def read_day_range_of_each(db: Any, keys: list[int], days: range) -> Any:
            asked.append((keys, days))
            return {7: "powers"}

        monkeypatch.setattr(scope, "load_shortfalls_of_each", load_shortfalls_of_each)
        monkeypatch.setattr(scope, "read_day_range_of_each", read_day_range_of_each)
        then = datetime(2026, 4, 1, tzinfo=UTC)
        assets: Any = [SimpleNamespace(key=7), SimpleNamespace(key=8)]
        present, past = (replace(make_scope({}), now=then, as_of=as_of) for as_of in (None, then))
        short, days = ([7, 8], FIRST, END, then), utc_days_of(FIRST, END)
        for one, scheduled, powers, reads in (
            (present, None, {7: "powers"}, [short, ([7, 8], days)]),
            (present, assets[1:], {7: "powers"}, [short, ([8], days)]),
            (present, (), {}, [short]),
            (past, None, {}, [short]),
        ):
            asked.clear()
            found: Any = await load_virtual_inputs(NOTHING, one, assets, scheduled)
            assert (found.shortfalls, found.powers, asked) == ({7: "short"}, powers, reads)
        asked.clear()
        assert not (await load_virtual_inputs(NOTHING, present, [])).shortfalls
        assert not asked


class TestTradesOfABattery:
    """Six quarter-hours in which it sold for 2 EUR each, of which drift made part or all."""

    @pytest.mark.parametrize(
        ("drift_eur", "cents"),
        [
            ([0.0] * 6, {LineType.TRADING: 1200}),
            ([2.0] * 6, {LineType.DRIFT: 1200}),
            ([2.0 + 1e-9] * 6, {LineType.DRIFT: 1200}),
            ([2.0] * 5 + [1.98], {LineType.DRIFT: 1198, LineType.TRADING: 2}),
            ([-1.0] * 6, {LineType.DRIFT: -600, LineType.TRADING: 1800}),
        ],
    )
    def test_are_apart_from_its_drift(self, drift_eur: list[float], cents: dict[LineType, int]) -> None:
        source = FactSource.WHOLESALE
        sheet = np.zeros((measure_count(source), END - FIRST))
        sheet[POSITION["sell_proceeds_eur"] - positions_of(source).start, :6] = 3.5
        sheet[POSITION["buy_cost_eur"] - positions_of(source).start, :6] = 1.5
        own = {source: [encode_aggregates(source, sheet)]}
        drift = np.zeros(END - FIRST)
        drift[:6] = drift_eur
        found = fact_entries(make_scope({7: own}), 7, drift)
        assert {entry.line: int(entry.by_bucket.sum()) for entry in found} == cents
