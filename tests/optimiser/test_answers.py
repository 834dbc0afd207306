"""What is answered of a solved programme, and which windows, assets and prices it is made of."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
import pytest
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.kernel.ids import BlockID, VirtualAssetID
from gridloom.kernel.market_time import PERIOD, format_instant, period_start
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.window import Window
from gridloom.optimiser.limits import plain_reasons
from gridloom.optimiser.prices import PricesMissing
from gridloom.optimiser.schedules import asset_optimisation, portfolio_optimisation, repair
from gridloom.optimiser.schedules.asset_optimisation import (
    check_optimisation,
    load_optimisation,
    open_window,
    reject_too_long,
)
from gridloom.optimiser.schedules.portfolio_optimisation import (
    load_shared_assignment,
)
from gridloom.optimiser.schedules.price_input import PriceCurve, check_asked
from gridloom.optimiser.schedules.proposal import (
    no_feasible_schedule,
)
from gridloom.optimiser.schedules.repair import load_repair
from gridloom.optimiser.schedules.scope import OptimisationScope
from gridloom.optimiser.schedules.wire import (
    NewOptimisation,
    NewPortfolioOptimisation,
    NewRepair,
    PricesAsked,
)
from gridloom.optimiser.solving.programme import (
    BatteryProgramme,
    InfeasibilityRule,
    InfeasibleError,
)
from gridloom.virtual_assets import block_store
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.points import SchedulePoints
from gridloom.virtual_assets.schedule.rules import GateClosed

pytestmark = pytest.mark.pure

FIRST = 1_900_000


def scope(first: int, count: int, **changes: Any) -> OptimisationScope:
    """1,000 kW in, 600 kW out, 400 of 2,000 kWh in store; 80 % of what is charged is stored, half of what is drawn is
    given."""
    energy = np.full(count, 2000.0)
    programme = BatteryProgramme(
        np.zeros(count), np.full(count, -1000.0), np.full(count, 600.0), energy * 0, energy, 400.0, 0.8, 0.5
    )
    asset: Any = SimpleNamespace(id=UUID(int=first), version=7, terms=SimpleNamespace(energy_capacity_kwh=2000.0))
    nothing = np.zeros(count)
    made = OptimisationScope(
        asset, first, first + count, (), nothing, nothing, programme, 0.0, plain_reasons(count), (nothing, nothing)
    )
    return replace(made, **changes)


def living(first: int, end: int, number: int) -> VirtualAsset:
    """An asset that lives in these quarter-hours, counted from the start of another."""
    long = asset_of_five_days()
    window = Window(period_start(long.first + first), period_start(long.first + end))
    terms = replace(long.terms, window=window)
    return msgspec.structs.replace(long, id=VirtualAssetID(UUID(int=number)), terms=terms, periods=(0, 0))


def instant(offset: int) -> datetime:
    return period_start(FIRST + offset)


class TestARefusal:
    def test_says_where_no_way_is_left_and_by_how_much(self) -> None:
        refusal = no_feasible_schedule(InfeasibleError(InfeasibilityRule.ENERGY_ABOVE, 3, 12.5), FIRST)
        at = format_instant(instant(3))
        assert refusal.members == {"rule": "ENERGY_ABOVE", "firstPeriod": at, "missing": 12.5}
        assert refusal.detail == (
            f"Whatever is scheduled, in the period {at} more would be in store than fits, by 12.5 kWh."
        )
        unknown = no_feasible_schedule(InfeasibleError(InfeasibilityRule.CYCLE_LIMIT, 0, 0.0), FIRST)
        assert unknown.detail.endswith("the cycles that are left do not suffice.")


class TestWhatAnOptimisationIsMadeOf:
    BLOCKS = tuple(BlockID(UUID(int=number)) for number in (1, 2))

    async def load(self, monkeypatch: pytest.MonkeyPatch, known: int = 100, **asked: Any) -> Any:
        asset = living(0, 480, 1)
        noted: list[Any] = []

        async def now_of(_: Any) -> datetime:
            return period_start(asset.first) - timedelta(days=3)

        async def prices_of(_: Any, __: Any, first: int, end: int | None, latest: int) -> PriceCurve:
            noted.append((first - asset.first, end and end - asset.first, latest - asset.first))
            return PriceCurve(first, np.zeros(known), None)

        async def scope_of(_: Any, __: Any, ___: Any, first: int, end: int, **options: Any) -> Any:
            noted.append((first - asset.first, end - asset.first, options))
            return "scope"

        async def blocks_of(_: Any, key: int) -> Any:
            return [SimpleNamespace(id=one) for one in self.BLOCKS]

        async def slots_of(_: Any, products: Any, task: Any, sent: Any) -> Any:
            return (products, task, sent)

        for name, change in (
            ("platform_now", now_of),
            ("load_prices", prices_of),
            ("load_optimisation_scope", scope_of),
            ("load_slots", slots_of),
        ):
            monkeypatch.setattr(asset_optimisation, name, change)
        monkeypatch.setattr(block_store, "read_blocks", blocks_of)
        self.noted = noted
        products = asked.pop("products", None)
        body = NewOptimisation(prices=PricesAsked(forecast=True), **asked)
        database: Any = None
        return await load_optimisation(database, asset, body, products)

    async def test_is_its_life_as_far_as_prices_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = await self.load(monkeypatch)
        assert self.noted == [(0, None, 480), (0, 100, {"keep": set(), "ends_on_target": True, "is_reach_tied": True})]
        assert (found.task, found.products, found.exact) == ("scope", None, False)
        start = period_start(living(0, 480, 1).first + 10)
        products: Any = "products"
        asked: dict[str, Any] = {"start": start, "end_state_of_charge": "FREE", "keep": [self.BLOCKS[1]], "exact": True}
        found = await self.load(monkeypatch, products=products, capacity_prices=[], **asked)
        assert self.noted == [
            (10, None, 480),
            (10, 110, {"keep": {self.BLOCKS[1]}, "ends_on_target": False, "is_reach_tied": False}),
        ]
        assert (found.products, found.exact) == (("products", "scope", []), True)
        await self.load(monkeypatch, end_state_of_charge="HARD")
        assert self.noted[1][2]["ends_on_target"]

    async def test_is_refused_with_strange_blocks_and_where_it_is_too_long(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(BadRequest) as refusal:
            await self.load(monkeypatch, keep=[self.BLOCKS[0], UUID(int=9), self.BLOCKS[1], UUID(int=8)])
        assert [fault.pointer for fault in refusal.value.errors] == ["/keep/1", "/keep/3"]
        assert asset_optimisation.MAX_PERIODS == 731 * 96
        monkeypatch.setattr(asset_optimisation, "MAX_PERIODS", 100)
        await self.load(monkeypatch)
        with pytest.raises(BadRequest, match="101 quarter-hours are more than the 100"):
            await self.load(monkeypatch, known=101)

    def test_is_asked_for_with_an_end_after_its_start(self) -> None:
        at, prices = instant(0), PricesAsked(forecast=True)
        for start, end in ((None, None), (at, None), (None, at), (at, at + PERIOD)):
            check_optimisation(NewOptimisation(prices=prices, start=start, end=end))
        for asked in (
            NewOptimisation(prices=prices, start=at, end=at),
            NewOptimisation(prices=prices, start=at, end=at - PERIOD),
            NewPortfolioOptimisation(prices=PricesAsked()),
        ):
            with pytest.raises(BadRequest):
                check_optimisation(asked)


class TestTheAssetsOfAPortfolio:
    """One lives five days, the other four, two days later."""

    late = timedelta(0)

    async def load(self, monkeypatch: pytest.MonkeyPatch, known: int = 576, **asked: Any) -> list[tuple[Any, int, int]]:
        long, later = living(0, 480, 1), living(192, 576, 2)

        async def now_of(_: Any) -> datetime:
            return period_start(long.first) - timedelta(days=3) + self.late

        async def prices_of(_: Any, __: Any, first: int, end: int | None, latest: int) -> PriceCurve:
            self.asked_for = (first - long.first, end and end - long.first, latest - long.first)
            return PriceCurve(first, np.zeros(min(known, (end or latest) - first)), None)

        async def scope_of(_: Any, asset: Any, __: Any, first: int, end: int, *, ends_on_target: bool) -> Any:
            return SimpleNamespace(asset=asset, first=first, end=end, ends_on_target=ends_on_target)

        monkeypatch.setattr(portfolio_optimisation, "platform_now", now_of)
        monkeypatch.setattr(portfolio_optimisation, "load_prices", prices_of)
        monkeypatch.setattr(portfolio_optimisation, "load_optimisation_scope", scope_of)
        asked = {
            name: period_start(long.first + value) if name in ("start", "end") else value
            for name, value in asked.items()
        }
        body = NewPortfolioOptimisation(prices=PricesAsked(forecast=True), **asked)
        database: Any = None
        found = await load_shared_assignment(database, [long, later], body)
        self.limit_kw = found.shared
        self.on_target = {task.ends_on_target for task in found.tasks}  # type: ignore[attr-defined]
        return [
            ("later" if task.asset.id == later.id else "long", task.first - long.first, task.end - long.first)
            for task in found.tasks
        ]

    async def test_are_those_that_live_in_the_window_as_far_as_prices_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        both = [("long", 0, 480), ("later", 192, 576)]
        assert await self.load(monkeypatch) == both
        assert (self.asked_for, self.on_target) == ((0, None, 576), {True})
        assert await self.load(monkeypatch, end=2000, end_state_of_charge="FREE") == both
        assert (self.asked_for, self.on_target) == ((0, 576, 576), {False})
        assert await self.load(monkeypatch, known=192) == [("long", 0, 192)], "no price of the other's life"
        assert await self.load(monkeypatch, known=193) == [("long", 0, 193), ("later", 192, 193)]
        assert self.limit_kw is None
        assert await self.load(monkeypatch, start=100, end=192, import_limit=5.0) == [("long", 100, 192)]
        assert self.limit_kw is not None
        assert self.limit_kw.import_kw.tolist() == [5.0] * 92
        assert await self.load(monkeypatch, start=100, end=193) == [("long", 100, 193), ("later", 192, 193)]
        assert await self.load(monkeypatch, start=479) == [("long", 479, 480), ("later", 479, 576)]
        assert await self.load(monkeypatch, start=480) == [("later", 480, 576)]
        with pytest.raises(BadRequest, match="No asset of the portfolio lives"):
            await self.load(monkeypatch, start=576)
        with pytest.raises(BadRequest, match="No asset of the portfolio lives"):
            await self.load(monkeypatch, end=0)

    async def test_are_those_whose_gates_are_not_all_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is over keeps no other from being planned."""
        closure = timedelta(seconds=living(0, 480, 1).terms.gate_closure_s)
        self.late = timedelta(days=3) + 478 * PERIOD - closure
        assert await self.load(monkeypatch) == [("long", 479, 480), ("later", 479, 576)]
        self.late += PERIOD
        for asked in ({}, {"start": 100}, {"end": 576}):
            assert await self.load(monkeypatch, **asked) == [("later", 480, 576)], asked
        self.late += 96 * PERIOD
        with pytest.raises(GateClosed):
            await self.load(monkeypatch)


class TestWhatARepairIsMadeOf:
    async def load(
        self, monkeypatch: pytest.MonkeyPatch, objective: Any, prices: Any = None, known: bool = True
    ) -> Any:
        """Three powers were sent, of the second, the third and the fifth quarter-hour of a life."""
        asset = living(0, 480, 1)
        asked: list[Any] = []

        async def prices_of(_: Any, prices: PricesAsked, first: int, end: int, latest: int) -> PriceCurve:
            asked.append((prices, first - asset.first, end - asset.first, latest - asset.first))
            if not known:
                raise PricesMissing("none")
            return PriceCurve(first, np.zeros(end - first), None)

        async def scope_of(_: Any, __: Any, ___: Any, first: int, end: int) -> Any:
            return scope(first, end - first, accepted_kw=np.arange(100.0, 100.0 + end - first))

        monkeypatch.setattr(repair, "load_prices", prices_of)
        monkeypatch.setattr(repair, "load_optimisation_scope", scope_of)
        periods = asset.first + np.array([1, 2, 4])
        points = SchedulePoints(periods, np.array([7.0, 8.0, 9.0]), np.array([5, 0, 1]))
        database: Any = None
        self.asked = asked
        now = period_start(asset.first) + self.late - timedelta(seconds=asset.terms.gate_closure_s)
        return await load_repair(database, asset, points, NewRepair([], objective, prices), now)

    late = timedelta(0)

    async def test_is_the_schedule_in_force_with_what_was_sent_in_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = await self.load(monkeypatch, "NEAREST")
        assert found.asked_kw.tolist() == [7.0, 8.0, 102.0, 9.0]
        assert found.is_asked.tolist() == [True, True, False, True]
        assert found.task.accepted_kw.tolist() == [100.0, 101.0, 102.0, 103.0]
        assert not found.is_best_value
        assert self.asked == [(PricesAsked(forecast=True), 1, 5, 5)]

    async def test_needs_prices_for_the_best_value_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert (await self.load(monkeypatch, "NEAREST", known=False)).prices is None
        best = await self.load(monkeypatch, "BEST_VALUE")
        assert (best.is_best_value, len(best.prices.values)) == (True, 4)
        sent = PricesAsked(series="DAY_AHEAD_DE_LU")
        for objective, prices in (("BEST_VALUE", None), ("NEAREST", sent), ("BEST_VALUE", sent)):
            with pytest.raises(PricesMissing):
                await self.load(monkeypatch, objective, prices, known=False)
            assert self.asked[0][0] == (prices or PricesAsked(forecast=True))

    async def test_is_refused_where_the_gate_of_the_first_is_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.late = PERIOD
        with pytest.raises(GateClosed) as refusal:
            await self.load(monkeypatch, "NEAREST")
        assert refusal.value.errors[0].pointer == "/schedule/5/time"


class TestPricesThatAreAskedFor:
    @pytest.mark.parametrize(
        ("asked", "pointer"),
        [
            ({}, "/prices"),
            ({"forecast": False}, "/prices"),
            ({"forecast": True, "series": "DAY_AHEAD_DE_LU"}, "/prices"),
            ({"forecast": True, "values": []}, "/prices"),
            ({"series": "FCR_DE"}, "/prices/series"),
            ({"series": "WEATHER"}, "/prices/series"),
            ({"series": "DAY_AHEAD_DE_LU", "forecast": False}, None),
            ({"forecast": True}, None),
            ({"values": []}, None),
        ],
    )
    def test_come_from_one_source_of_energy_prices(self, asked: dict[str, Any], pointer: str | None) -> None:
        if pointer is None:
            check_asked(PricesAsked(**asked))
            return
        with pytest.raises(BadRequest) as refusal:
            check_asked(PricesAsked(**asked))
        assert [fault.pointer for fault in refusal.value.errors] == [pointer]
        if pointer == "/prices/series":
            assert "DAY_AHEAD_DE_LU" in refusal.value.errors[0].detail
            assert "FCR_DE" not in refusal.value.errors[0].detail


class TestAWindow:
    def test_is_refused_off_the_grid_outside_the_life_and_where_it_is_too_long(self) -> None:
        asset = asset_of_five_days()
        start, end = asset.terms.window.start, asset.terms.window.end
        before, minute = start - timedelta(days=3), timedelta(minutes=1)
        for begins, ends, pointer in (
            (start + minute, None, "/start"),
            (start, end - minute, "/end"),
            (end, None, "/start"),
            (start + PERIOD, start + PERIOD, "/start"),
        ):
            with pytest.raises(BadRequest) as refusal:
                open_window(asset, before, begins, ends)
            assert [fault.pointer for fault in refusal.value.errors] == [pointer]
        assert open_window(asset, before, end - PERIOD, None) == (asset.end - 1, None)
        assert open_window(asset, before, start, start + PERIOD) == (asset.first, asset.first + 1)
        reject_too_long(5, 5)
        with pytest.raises(BadRequest, match="6 quarter-hours are more than the 5"):
            reject_too_long(6, 5)
