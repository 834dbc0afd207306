"""A world that was lived through for three days. Some tests look at its past, others live on in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from gridloom.kernel.market_time import market_day_of, market_day_window

if TYPE_CHECKING:
    from tests.sandbox.simulator.worlds import SimulatedWorld

    from gridloom.settings import Settings


@pytest.fixture(scope="session")
async def world(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SimulatedWorld]:
    from tests.sandbox.simulator.worlds import simulated_world

    async with simulated_world(settings, tmp_path_factory.mktemp("home"), days=3) as made:
        await made.live_until()
        yield made


@pytest.fixture(scope="session")
def window(world: SimulatedWorld) -> tuple[datetime, datetime]:
    """The world's second day: planned by traders, delivered, and settled on the third."""
    day = market_day_of(world.made_at) - timedelta(days=2)
    lived = market_day_window(day)
    return lived.start, lived.end
