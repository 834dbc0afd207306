"""The minutes of the quarter-hour under way, reported as the sandbox's clock passes them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime

from gridloom.kernel.market_time import PERIOD
from gridloom.sandbox.simulator.batteries import metering
from gridloom.sandbox.simulator.batteries.metering import MINUTE, MINUTES_A_PERIOD, Metered
from gridloom.sandbox.simulator.step_context import StepContext
from gridloom_client import GridloomError


class MinuteReports:
    """The measured values at each full minute after a step. The step at the quarter-hour's end reports all of it
    again, with the same values."""

    def __init__(self, context: StepContext, now: datetime, speed: float) -> None:
        self._scene = context
        self._start = context.step
        self._speed = speed
        self._clock = (now, asyncio.get_running_loop().time())
        self._metered: Metered | None = None
        self._sent = 0
        self._sending = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._follow_clock(), name="minutes")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def catch_up(self, now: datetime) -> None:
        """The clock shows `now`: report everything up to there."""
        self._clock = (now, asyncio.get_running_loop().time())
        with suppress(GridloomError):
            await self._report_until(now)

    async def _follow_clock(self) -> None:
        with suppress(GridloomError):
            while self._sent < MINUTES_A_PERIOD:
                now, read_at = self._clock
                due_s = (self._start + self._sent * MINUTE - now).total_seconds() / self._speed
                await asyncio.sleep(max(0.0, read_at + due_s - asyncio.get_running_loop().time()))
                await self._report_until(self._start + self._sent * MINUTE)

    async def _report_until(self, now: datetime) -> None:
        async with self._sending:
            reached = min(MINUTES_A_PERIOD, (now - self._start) // MINUTE + 1)
            if reached <= self._sent:
                return
            if self._metered is None:
                orders = await metering.read_orders(self._scene, self._start, self._start + PERIOD)
                is_at_site = orders.acknowledged[:, :-1] | orders.acknowledged[:, 1:]
                self._metered = metering.run_orders(self._scene, orders, is_at_site)
            await metering.send(self._scene, self._metered, self._sent, reached)
            self._sent = reached
