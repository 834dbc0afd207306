"""What the simulated operator asks of the platform: auctions, tolls and published prices, each request as a whole."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sandbox.simulator.recorded import Session, refusal

from gridloom.sandbox.simulator.participants import operator
from gridloom.sandbox.simulator.scenario import BATTERIES, ORGANISATIONS
from gridloom.sandbox.simulator.state import OpenAuction, SimulatedHolding, SimulatorState

pytestmark = pytest.mark.pure

TODAY = date(2026, 10, 23)
"""Two days before one of 25 hours."""
STEP = datetime(2026, 10, 23, 7, 45, tzinfo=UTC)
SIZES = {"50Hertz": (62_000, 124_000), "Amprion": (50_000, 100_000), "TenneT": (62_000, 124_000)}
SIZES["TransnetBW"] = (57_000, 114_000)
"""Of the batteries of a zone, in kW and kWh"""


def scene_of(session: Session, **known: Any) -> Any:
    memory = SimulatorState(
        world=1,
        seeds={},
        batteries={one.slug: f"id-{one.slug}" for one in BATTERIES},
        organisations={one.slug: f"id-{one.slug}" for one in ORGANISATIONS},
        portfolios={one.slug: f"portfolio-{one.slug}" for one in ORGANISATIONS},
    )
    return SimpleNamespace(
        **{"memory": memory, "operator": session, "step": STEP, "key": lambda action: action, "board": "board"} | known
    )


class TestAuctions:
    async def test_are_listed_by_day_and_zone_whoever_was_answered_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(operator, "expected_value", lambda *_: 100.0)

        def answer(target: str, body: Any) -> Any:
            if body["item"]["deliveryZone"] == "TenneT":
                raise refusal()
            return {"id": body["item"]["deliveryZone"]}

        scene = scene_of(Session(answer))
        later, sooner = TODAY + timedelta(days=3), TODAY + timedelta(days=1)
        scene.memory.auctions += [OpenAuction("z", "A", later, STEP), OpenAuction("a", "Z", sooner, STEP)]
        scene.memory.auctions.append(OpenAuction("m", "B", TODAY + timedelta(days=2), STEP))
        await operator.offer_auctions(scene, TODAY)
        assert [one.id for one in scene.memory.auctions] == ["a", "50Hertz", "Amprion", "m", "TransnetBW", "z"]


class TestTolls:
    async def test_are_listed_by_time_and_zone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(operator, "annual_toll", lambda *_: 1000)
        scene = scene_of(Session(lambda target, body: {"id": "new"}))
        for id, zone, begins, days in (("later", "A", 1, 1), ("long", "A", 0, 99), ("short", "Z", 0, 1)):
            start = datetime(2026, 10, 22, 22, tzinfo=UTC) + timedelta(days=begins)
            scene.memory.holdings.append(
                SimulatedHolding(id, "hanse", zone, start, start + timedelta(days=days), 1.0, 1.0, 1.0)
            )
        await operator.renew_tolls(scene, TODAY)
        assert [one.id for one in scene.memory.holdings] == ["short", *["new"] * 4, "long", "later"]
