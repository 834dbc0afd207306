"""The context of all participants at one quarter-hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

import numpy as np

from gridloom.kernel.market_time import MARKET_ZONE, market_day_of
from gridloom.sandbox.simulator import random_streams
from gridloom.sandbox.simulator.api_session import ApiSession
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.state import SimulatorState


def wall_time(instant: datetime) -> tuple[int, int]:
    """Hour and minute on the market's wall."""
    local = instant.astimezone(MARKET_ZONE)
    return local.hour, local.minute


@dataclass(frozen=True, slots=True)
class StepContext:
    memory: SimulatorState
    market_data: MarketData
    operator: ApiSession
    sessions: dict[str, ApiSession]
    step: datetime
    is_late: bool
    """Whether the clock has passed this quarter-hour already: only what can be made up for is done."""
    is_past: bool
    """Whether the world's past is still being played: then the newcomer's organisations are acted for, too."""
    is_hurrying: bool = False

    @property
    def today(self) -> date:
        return market_day_of(self.step)

    @property
    def clock(self) -> tuple[int, int]:
        return wall_time(self.step)

    def key(self, action: str) -> str:
        return f"{self.memory.world}/{self.step:%Y%m%dT%H%MZ}/{action}"

    def chance(self, purpose: str, *place: int) -> np.random.Generator:
        return random_streams.stream(self.market_data.seed_of(self.today), purpose, *place)
