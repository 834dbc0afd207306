"""What traders sell of their plans: to customers, at auctions, and on the day itself; each its own, in its lots."""

from __future__ import annotations

from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.kernel.market_time import market_day_window
from gridloom.sandbox.simulator.api_session import written
from gridloom.sandbox.simulator.market.intraday import IntradayAuction
from gridloom.sandbox.simulator.participants.strategies import PATIENT, SHARP, STRATEGIES, customers_price
from gridloom.sandbox.simulator.participants.trading import sell_at_auction, sell_day_ahead, trade_intraday
from gridloom.sandbox.simulator.state import SimulatedHolding, SimulatorState

pytestmark = pytest.mark.pure

DAY = date(2026, 6, 18)
WINDOW = market_day_window(DAY)
PRICES = np.arange(96.0)
SHARP_SLUG, PATIENT_SLUG = (next(slug for slug, one in STRATEGIES.items() if one is own) for own in (SHARP, PATIENT))
"""The one trades steps of 0.025 MWh, 80 % of its plans on the day before, and supplies customers from 2 to 5 o'clock;
the other steps of 0.125 MWh, all of them on the day before, and supplies customers from 22 o'clock on."""


class Voice:
    def __init__(self) -> None:
        self.trades: list[tuple[str, str, float, str, float]] = []

    async def post(self, target: str, rows: list[dict[str, Any]], key: str) -> None:
        assert target == "/settlements/wholesale-trades"
        self.trades += [(r["assetID"], r["side"], r["volume"], r["time"], r["price"]) for r in rows]


def at(number: int) -> str:
    return written(WINDOW.start + number * timedelta(minutes=15))


def by_period(**values: float) -> list[float]:
    """Zeros but for the periods named, such as `p40`."""
    return [values.get(f"p{number}", 0.0) for number in range(96)]


def scene_of(**known: Any) -> Any:
    held = [
        SimulatedHolding(id, slug, "TenneT", WINDOW.start, WINDOW.end, 2000.0, 0.9, 0.9)
        for id, slug in (("sharp", SHARP_SLUG), ("patient", PATIENT_SLUG))
    ]
    return SimpleNamespace(
        memory=SimulatorState(world=1, seeds={}, holdings=held, **known),
        board=SimpleNamespace(
            day_ahead=lambda day: PRICES, auction=lambda day, auction: PRICES + 100, intraday=lambda day: PRICES + 200
        ),
        voices={slug: Voice() for slug in STRATEGIES},
        key=lambda action: action,
        today=DAY,
        clock=(8, 0),
    )


class TestAPlan:
    async def test_is_sold_on_the_day_before_by_share_and_lot_beside_what_customers_get(self) -> None:
        plans = {
            "sharp": by_period(p40=1000.0),
            "patient": by_period(p12=500.0, p40=1000.0, p41=-1100.0, p90=800.0),
            "nobody's": by_period(p40=1000.0),
        }
        scene = scene_of(plans={DAY.isoformat(): plans})
        await sell_day_ahead(scene, DAY)
        assert scene.voices[SHARP_SLUG].trades == [("sharp", "SELL", 0.2, at(40), 40.0)]
        assert scene.voices[PATIENT_SLUG].trades == [
            ("patient", "SELL", 0.2, at(90), customers_price(PRICES)),
            ("patient", "SELL", 0.125, at(12), 12.0),
            ("patient", "SELL", 0.25, at(40), 40.0),
            ("patient", "BUY", 0.25, at(41), 41.0),
        ]
        assert scene.memory.unsold == {
            DAY.isoformat(): {"sharp": by_period(p40=0.05), "patient": by_period(p41=-0.025)},
        }
        assert scene.memory.plans == {}


class TestTheRestOfAPlan:
    async def test_is_halved_at_the_intraday_auction_of_its_trader(self) -> None:
        left = {"sharp": by_period(p40=0.1, p41=-0.05), "patient": by_period(p40=0.5)}
        scene = scene_of(unsold={DAY.isoformat(): left})
        await sell_at_auction(scene, DAY, IntradayAuction.SECOND)
        assert not any(voice.trades for voice in scene.voices.values())
        await sell_at_auction(scene, DAY, IntradayAuction.FIRST)
        assert scene.voices[SHARP_SLUG].trades == [
            ("sharp", "SELL", 0.05, at(40), 140.0),
            ("sharp", "BUY", 0.025, at(41), 141.0),
        ]
        assert scene.voices[PATIENT_SLUG].trades == []
        assert scene.memory.unsold[DAY.isoformat()] == {
            "sharp": by_period(p40=0.05, p41=-0.025),
            "patient": by_period(p40=0.5),
        }

    async def test_is_traded_in_whole_lots_for_the_eight_hours_to_come(self) -> None:
        """From 8 until 16 o'clock."""
        left = {
            "sharp": by_period(p50=-0.06),
            "patient": by_period(p31=0.5, p32=0.13, p40=0.05, p63=-0.26, p64=0.5),
        }
        scene = scene_of(unsold={DAY.isoformat(): left})
        await trade_intraday(scene)
        assert scene.voices[SHARP_SLUG].trades == [("sharp", "BUY", 0.05, at(50), 250.0)]
        assert scene.voices[PATIENT_SLUG].trades == [
            ("patient", "SELL", 0.125, at(32), 232.0),
            ("patient", "BUY", 0.25, at(63), 263.0),
        ]
