"""Traders: for what they bid, what they win, and how they schedule what they hold."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sandbox.simulator.recorded import Session, refusal

from gridloom.kernel.market_time import market_day_window
from gridloom.sandbox.simulator.api_session import written
from gridloom.sandbox.simulator.participants import traders, valuing
from gridloom.sandbox.simulator.participants.strategies import SHARP
from gridloom.sandbox.simulator.scenario import ORGANISATIONS, TRADERS
from gridloom.sandbox.simulator.state import OpenAuction, SimulatedHolding, SimulatorState

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
