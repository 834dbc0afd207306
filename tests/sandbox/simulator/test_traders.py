"""Traders: for what they bid, what they win, and how they schedule what they hold."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.sandbox.simulator.recorded import Session, refusal

from gridloom.kernel.market_time import market_day_window
from gridloom.sandbox.simulator.api_session import written
from gridloom.sandbox.simulator.market.calendar import periods_of
from gridloom.sandbox.simulator.participants import traders, valuing
from gridloom.sandbox.simulator.participants.strategies import CAUTIOUS, CUSTOMERS_PREMIUM_EUR_MWH, PATIENT, SHARP
from gridloom.sandbox.simulator.scenario import ORGANISATIONS, TRADERS
from gridloom.sandbox.simulator.state import OpenAuction, SimulatedHolding, SimulatorState
from gridloom_client import ConflictError, ForbiddenError, NotFoundError, ProblemError, UnprocessableError

pytestmark = pytest.mark.pure

DAY = date(2026, 6, 18)
WINDOW = market_day_window(DAY)
STEP = datetime(2026, 6, 17, 9, 30, tzinfo=UTC)
"""On the day before."""
MINUTE = timedelta(minutes=1)
BOARD: Any = "board"


def auction(id: str, *, days: int = 0, ended_min: int = 0, power_mw: float = 10.0) -> OpenAuction:
    return OpenAuction(id, "TenneT", DAY + timedelta(days=days), STEP - ended_min * MINUTE, power_mw)


def holding(id: str, holder: str, *, start_h: float = 0, end_h: float = 24) -> SimulatedHolding:
    start, end = (WINDOW.start + timedelta(hours=hours) for hours in (start_h, end_h))
    return SimulatedHolding(id, holder, "TenneT", start, end, 2000.0, 0.9, 0.95)


def scene_of(answer: Any = lambda target, body: None, **known: Any) -> Any:
    made = {
        "memory": SimulatorState(
            world=1, seeds={}, organisations={one.slug: f"id-{one.slug}" for one in ORGANISATIONS}
        ),
        "board": BOARD,
        "operator": Session(answer),
        "voices": {one.slug: Session(answer, f"id-{one.slug}") for one in TRADERS},
        "step": STEP,
        "today": DAY - timedelta(days=1),
        "key": lambda action: action,
        "is_past": False,
        "is_hurrying": False,
    }
    return SimpleNamespace(**made | known)


def listed(scene: Any) -> list[tuple[str, str, Any, str]]:
    return sorted((slug, *one) for slug, voice in scene.voices.items() for one in voice.posted)


class TestBids:
    @pytest.mark.parametrize(
        ("is_past", "bidders"), [(True, {"hanse", "neckar", "rheintal"}), (False, {"neckar", "rheintal"})]
    )
    async def test_are_made_for_what_opened_today_by_those_who_decide_for_themselves(
        self, monkeypatch: pytest.MonkeyPatch, is_past: bool, bidders: set[str]
    ) -> None:
        """The auctions of today are those for the day after tomorrow; no newcomer is acted for in the present."""
        placed: list[Any] = []

        async def place(_: Any, trader: Any, of: OpenAuction, is_last: bool) -> None:
            placed.append((trader.slug, of.id, is_last))

        monkeypatch.setattr(traders, "_place_bid", place)
        scene = scene_of(is_past=is_past)
        scene.memory.auctions = [auction("tomorrow"), auction("new", days=1)]
        await traders.bid(scene, is_last=True)
        assert sorted(placed) == [(slug, "new", True) for slug in sorted(bidders)]

    async def test_ask_the_platform_for_a_value_only_where_there_is_something_to_offer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[Any] = []
        offers = {"hanse": None, "neckar": 0.99, "rheintal": 80.125}

        def decide(board: Any, slug: str, zone: str, day: date, worth: float, *, is_last: bool) -> float | None:
            asked.append((board, slug, zone, day, worth, is_last))
            offer = offers[slug]
            return None if offer is None else offer * worth

        async def value(_: Any, trader: Any, of: OpenAuction) -> float:
            assert trader.slug != "hanse", "it is away"
            return {"neckar": 1.0, "rheintal": 4.0}[trader.slug]

        monkeypatch.setattr(traders, "decide_offer", decide)
        monkeypatch.setattr(traders, "_value_auction", value)
        scene = scene_of()
        for trader in TRADERS:
            await traders._place_bid(scene, trader, auction("a", days=1), True)
        assert listed(scene) == [("rheintal", "/auctions/a/bids", {"price": "320.50"}, "bid/rheintal/a")]
        day = DAY + timedelta(days=1)
        assert sorted(asked, key=lambda one: (one[1], one[4])) == [
            (BOARD, "hanse", "TenneT", day, 1.0, True),
            (BOARD, "neckar", "TenneT", day, 1.0, True),
            (BOARD, "neckar", "TenneT", day, 1.0, True),
            (BOARD, "rheintal", "TenneT", day, 1.0, True),
            (BOARD, "rheintal", "TenneT", day, 4.0, True),
        ]

    @pytest.mark.parametrize("kind", [ConflictError, UnprocessableError, ForbiddenError, NotFoundError])
    async def test_that_are_refused_end_nothing(
        self, monkeypatch: pytest.MonkeyPatch, kind: type[ProblemError]
    ) -> None:
        def refuse(target: str, body: Any) -> None:
            raise refusal(kind)

        monkeypatch.setattr(traders, "decide_offer", lambda *_, **__: 50.0)
        monkeypatch.setattr(traders, "expected_value", lambda *_: 50.0)
        scene = scene_of(refuse)
        for trader in TRADERS:  # whether it asks for a value or for what it bids
            await traders._place_bid(scene, trader, auction("a"), False)
        assert [len(voice.posted) for voice in scene.voices.values()] == [1, 1, 1]

    async def test_are_worth_what_the_platform_says_or_by_a_traders_own_reckoning(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The one that asks does not while time hurries. Known is what was known two days before."""
        asked: list[Any] = []

        def expected(*of: Any) -> float:
            asked.append(of)
            return 70.0

        monkeypatch.setattr(traders, "expected_value", expected)
        by_slug = {one.slug: one for one in TRADERS}
        scene = scene_of(lambda target, body: {"p10": 1.0, "p50": "600.00"})
        assert await traders._value_auction(scene, by_slug["rheintal"], auction("a")) == pytest.approx(510.0)
        assert listed(scene) == [
            ("rheintal", "/auctions/a/valuations", {"basis": "FORESIGHT"}, "value/rheintal/a"),
        ]
        assert asked == []
        assert await traders._value_auction(scene, by_slug["neckar"], auction("a")) == 700.0
        hurrying = scene_of(is_hurrying=True)
        assert await traders._value_auction(hurrying, by_slug["rheintal"], auction("a", power_mw=2.5)) == 175.0
        assert asked == [(BOARD, of, DAY, DAY - timedelta(days=2)) for of in (CAUTIOUS, PATIENT)]
        assert listed(hurrying) == []


class TestWhatWasWon:
    async def test_is_held_by_its_winner_and_looked_up_once(self) -> None:
        results = {
            "ours": {"winnerID": "id-hanse", "virtualAssetID": "won"},
            "known": {"winnerID": "id-neckar", "virtualAssetID": "held"},
            "others": {"winnerID": "id-of-a-stranger", "virtualAssetID": "lost"},
            "nobodys": {},
            "old": {"winnerID": "id-hanse", "virtualAssetID": "of an earlier release"},
        }

        def answer(target: str, _: Any) -> Any:
            _, _, id, last = target.split("/")
            assert last == "results"
            if id == "refused":
                raise refusal()
            return results[id]

        scene = scene_of(answer)
        held = holding("held", "neckar")
        scene.memory.holdings = [held]
        open_now = [auction("open", ended_min=-1), auction("next", days=1, ended_min=9)]
        closed = [auction(id) for id in ("ours", "known", "others", "nobodys", "refused")]
        scene.memory.auctions = [*open_now, *closed, auction("old", power_mw=0.0)]
        await traders.take_what_was_won(scene, DAY)
        won = SimulatedHolding("won", "hanse", "TenneT", WINDOW.start, WINDOW.end, 20_000.0, 0.943, 0.943, 2.0)
        assert scene.memory.holdings == [held, won]
        assert scene.memory.auctions == open_now
        assert len(scene.operator.got) == 6


class TestSchedules:
    def scene_of(self, planned_kw: float = 0.0, percentage: float | None = 30.0, **known: Any) -> Any:
        block = {
            "id": "block",
            "market": "WHOLESALE",
            "start": written(WINDOW.start),
            "end": written(WINDOW.end),
            "schedule": [{"power": 0.0}, {"power": planned_kw}],
        }

        def answer(target: str, body: Any) -> Any:
            if body is not None:
                return None
            if "/blocks?" in target:
                if "/none/" in target:
                    return []
                if "/gone/" in target:
                    raise refusal()
                return [block]
            return [] if percentage is None else [{"stateOfChargePercentage": percentage}]

        return scene_of(answer, **known)

    @pytest.mark.parametrize(
        ("start_h", "percentage", "start"), [(0, 30.0, 0.5), (5, 30.0, 0.5), (-24, 30.0, 0.3), (-24, None, 0.5)]
    )
    async def test_begin_with_what_the_battery_will_hold(
        self, monkeypatch: pytest.MonkeyPatch, start_h: float, percentage: float | None, start: float
    ) -> None:
        """A new one is half full. What is asked for, and what is put there, is of the whole day."""
        chosen: list[Any] = []

        def choose(scene: Any, of: SimulatedHolding, day: date, block: Any, begins: float) -> list[float]:
            chosen.append((of.id, day, block["id"], begins))
            return [float(number) for number in range(96)]

        monkeypatch.setattr(traders, "_choose_powers", choose)
        scene = self.scene_of(percentage=percentage)
        found = await traders._plan_day(scene, holding("one", "neckar", start_h=start_h), DAY)
        assert found == [float(number) for number in range(96)]
        assert chosen == [("one", DAY, "block", start)]
        asset, voice = "/organisations/id-neckar/virtual-assets/one", scene.voices["neckar"]
        begin, end, quarter = written(WINDOW.start), written(WINDOW.end), written(WINDOW.start + 15 * MINUTE)
        expected = [f"{asset}/blocks?start={begin}&end={end}"]
        if start_h < 0:
            expected.append(f"{asset}/state-of-charge?start={begin}&end={quarter}")
        assert voice.got == expected
        schedule = [{"time": written(time), "power": float(n)} for n, time in enumerate(periods_of(DAY))]
        assert voice.put_there == [(f"{asset}/blocks/block?start={begin}&end={quarter}", {"schedule": schedule})]

    @pytest.mark.parametrize(
        ("holder", "planned_kw", "is_past", "plans"),
        [
            pytest.param("hanse", 5.0, False, False, id="not where a newcomer has planned"),
            pytest.param("hanse", 0.0, False, True, id="where a newcomer has not"),
            pytest.param("hanse", 5.0, True, True, id="in the past"),
            pytest.param("neckar", 5.0, False, True, id="of all others"),
        ],
    )
    async def test_are_made(
        self, monkeypatch: pytest.MonkeyPatch, holder: str, planned_kw: float, is_past: bool, plans: bool
    ) -> None:
        monkeypatch.setattr(traders, "_choose_powers", lambda *_: [1.0] * 96)
        scene = self.scene_of(planned_kw, is_past=is_past)
        found = await traders._plan_day(scene, holding("one", holder), DAY)
        assert (found is not None) is plans
        assert bool(scene.voices[holder].put_there) is plans

    async def test_of_all_that_is_held_for_the_whole_day_are_remembered_where_they_were_made(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(traders, "_choose_powers", lambda scene, of, *_: [float(len(of.id))] * 96)
        scene = self.scene_of()
        scene.memory.holdings = [
            holding("none", "neckar"),
            holding("gone", "hanse"),
            holding("long", "hanse", start_h=-24, end_h=48),
            holding("partly", "neckar", end_h=23),
            holding("whole day", "rheintal"),
        ]
        scene.memory.plans = {"2026-06-17": {"x": [1.0]}}
        await traders.plan(scene, DAY)
        assert scene.memory.plans == {
            "2026-06-17": {"x": [1.0]},
            "2026-06-18": {"long": [4.0] * 96, "whole day": [9.0] * 96},
        }


class TestAnOffer:
    @pytest.mark.parametrize(
        ("is_last", "content_draw", "share"),
        [(False, 0.49, 1.0), (False, 0.5, 0.88), (True, 0.49, None), (True, 0.5, 1)],
    )
    def test_is_a_share_of_what_a_trader_sees_and_at_first_a_little_less(
        self, monkeypatch: pytest.MonkeyPatch, is_last: bool, content_draw: float, share: float | None
    ) -> None:
        """Some are content with the first; it is drawn on the day of the offer, two days before, for each zone."""
        asked: list[Any] = []

        def stream(*of: Any) -> Any:
            asked.append(of)
            return SimpleNamespace(uniform=lambda: content_draw, standard_normal=lambda: -2.0)

        monkeypatch.setattr(valuing, "stream", stream)
        days: list[date] = []

        def seed_of(day: date) -> int:
            days.append(day)
            return 7

        board: Any = SimpleNamespace(seed_of=seed_of)
        found = valuing.decide_offer(board, "hanse", "TenneT", DAY, 100.0, is_last=is_last)
        expected = None if share is None else 100 * np.exp(-0.2) * SHARP.offers_share * share
        assert found == (None if expected is None else pytest.approx(expected))
        assert days == [DAY - timedelta(days=2)]
        who, where = valuing.number_text("hanse"), valuing.number_text("TenneT")
        assert asked == [(7, "absent", who, DAY.toordinal()), (7, "view", who, DAY.toordinal(), where)]


class TestAValue:
    def test_is_a_plans_promise_by_how_much_recent_plans_have_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Any] = []
        known = DAY - timedelta(days=2)
        for kept, share in ((0.8, 0.8), (1.2, 1.2), (0.1, 0.5), (9.0, 1.5)):

            def result(board: Any, strategy: Any, day: date, known_until: date, _kept: float = kept) -> Any:
                asked.append((day, known_until))
                return (50.0, 0.0) if day == DAY else (10.0, 10 * _kept)

            monkeypatch.setattr(valuing, "plan_and_result", result)
            assert valuing.expected_value(BOARD, SHARP, DAY, known) == pytest.approx(50 * share)
        recent = [(known - timedelta(days=n), known - timedelta(days=n + 1)) for n in range(7)]
        assert sorted(asked[:8]) == sorted([*recent, (DAY, known)])
        monkeypatch.setattr(valuing, "plan_and_result", lambda *of: (30.0 if of[2] == DAY else 0.0, 1.0))
        assert valuing.expected_value(BOARD, SHARP, DAY, known) == 30.0
        monkeypatch.setattr(valuing, "plan_and_result", lambda *of: (-30.0, -1.0))
        assert valuing.expected_value(BOARD, SHARP, DAY, known) == 0.0

    def test_of_a_fortnight_is_what_days_around_its_beginning_bring(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Four days before and fourteen from it on, at the prices that come; a toll is a share of it, to 500 EUR."""
        asked: list[Any] = []

        def result(board: Any, strategy: Any, day: date, known_until: date) -> tuple[float, float]:
            asked.append((strategy, (day - DAY).days, (day - known_until).days))
            return 0.0, 100.0 + (day - DAY).days

        monkeypatch.setattr(valuing, "plan_and_result", result)
        board: Any = object()  # of this test alone: values are kept
        assert valuing.forward_value(board, CAUTIOUS, DAY) == pytest.approx(104.5)
        assert asked == [(CAUTIOUS, day, 1) for day in range(-4, 14)]
        assert valuing.annual_toll(board, "TransnetBW", DAY) == 32_000, "365 × 104.5 × 0.84 = 32,039.7"
        assert valuing.annual_toll(board, "Amprion", DAY) == 33_500
        assert {strategy for strategy, *_ in asked[18:]} == {SHARP}

    def test_of_a_day_is_of_a_megawatt_and_two_hours_with_what_customers_pay(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Promised at expected prices, earned at those that come; customers pay the mean of the day and a premium."""
        asked: list[Any] = []
        power = np.zeros(96)
        power[[50, 80]] = 400.0, 1000.0  # the first of them for customers, from 11 to 15 o'clock

        def plan_day(store: Any, prices: Any, **how: Any) -> Any:
            asked.append((store, prices, how))
            return SimpleNamespace(power_kw=power)

        def see_prices(strategy: Any, expected: Any, normals: Any) -> Any:
            return expected + 1000

        expected, real = np.full(96, 40.0), np.full(96, 60.0)
        known: list[Any] = []

        def expect(*of: Any) -> Any:
            known.append(of)
            return expected

        board: Any = SimpleNamespace(expected=expect, day_ahead=lambda day: real, seed_of=lambda day: known.append(day))
        monkeypatch.setattr(valuing, "plan_day", plan_day)
        monkeypatch.setattr(valuing, "see_prices", see_prices)
        monkeypatch.setattr(valuing, "stream", lambda *_: SimpleNamespace(standard_normal=lambda size: np.zeros(size)))
        uncached = valuing.plan_and_result.__wrapped__
        before = DAY - timedelta(days=2)
        premium = 0.1 * CUSTOMERS_PREMIUM_EUR_MWH
        assert uncached(board, CAUTIOUS, DAY, before) == pytest.approx((14 + premium, 21 + premium))
        assert known == [(DAY, before, CAUTIOUS.weights), before]
        [(store, prices, how)] = asked
        assert (store.charge_kw == 1000).all()
        assert (store.discharge_kw == 1000).all()
        assert (store.energy_kwh, store.charge_efficiency, store.discharge_efficiency) == (2000.0, 0.943, 0.943)
        assert (prices == 1040).all()
        assert how.pop("delivers").nonzero()[0].tolist() == list(range(44, 60))
        assert how == {"most_cycles": 1.9, "least_margin_eur_mwh": 20.0}
