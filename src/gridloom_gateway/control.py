"""One battery's set-point: what is written when, and what is said of it. The rules are pure; a thread carries them out.

| Situation | Written | Acknowledged |
|---|---|---|
| the plan has the quarter-hour | its power, ramped where asked, again every 10 s | APPLIED once it was written |
| the power is beyond the battery's limits | nothing | REJECTED |
| the machine's clock is more than 60 s off | nothing | REJECTED |
| the site cannot be reached for 60 s | tried every second | REJECTED, APPLIED if it is taken later |
| the battery does something else for 60 s | its power | NOT_FOLLOWED |
| the plan has run out | nothing, or zero | |
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from gridloom_gateway.acknowledgements import Acknowledgement, Status
from gridloom_gateway.clock import ClockComparison, now, period_of
from gridloom_gateway.configuration import Dispatch
from gridloom_gateway.connection import Connection, SetPoint, SiteUnreachable
from gridloom_gateway.intake import Latest
from gridloom_gateway.plan import Plan, find_first_change

TICK_S: Final = 1.0
POWER_TOLERANCE_KW: Final = 1e-6
MAX_SAMPLE_AGE_S: Final = 30.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Step:
    """The outcome of one look at the clock: a set-point to write (None leaves all as it is), and a refusal."""

    set_point: SetPoint | None = None
    refusal: str | None = None


@dataclass(slots=True)
class Controller:
    """The rules for one battery; times in seconds are those of a clock that only goes forward."""

    limits: Dispatch
    plan: Plan = field(default_factory=Plan)
    written_kw: float | None = None
    written_s: float = float("-inf")
    is_released: bool = False
    """Whether the site has been told that it is on its own; a process that was killed may have left it otherwise."""
    followed_s: float | None = None
    """Since when the battery does as it was told, or since when it has been told."""
    failing_s: float | None = None
    said: set[tuple[datetime, int, Status]] = field(default_factory=set)

    def decide(self, instant: datetime, at_s: float, *, clock_is_too_far: bool) -> Step:
        if clock_is_too_far:
            return Step(refusal="the clock of the gateway is more than 60 s off")
        target_kw = self.plan.find_power(instant)
        if target_kw is None:
            if self.limits.at_end == "zero" and self.plan.power_kw:
                return self._step_towards(0.0, at_s)
            return Step(None if self.is_released else SetPoint(None))
        if not self.limits.allows(target_kw):
            refusal = (
                f"{target_kw:g} kW is beyond the limits of {-self.limits.max_charge_kw:g} to "
                f"{self.limits.max_discharge_kw:g} kW"
            )
            return Step(None if self.is_released else SetPoint(None), refusal)
        return self._step_towards(target_kw, at_s)

    def _step_towards(self, target_kw: float, at_s: float) -> Step:
        next_kw = self._ramp_power(target_kw, at_s)
        is_due = self.is_released or at_s - self.written_s >= self.limits.write_every_s
        if is_due or self.written_kw is None or abs(next_kw - self.written_kw) > POWER_TOLERANCE_KW:
            return Step(SetPoint(next_kw))
        return Step()

    def _ramp_power(self, target_kw: float, at_s: float) -> float:
        ramp = self.limits.ramp_kw_per_s
        if ramp is None or self.written_kw is None:
            return target_kw
        most_kw = ramp * max(0.0, at_s - self.written_s)
        return self.written_kw + min(max(target_kw - self.written_kw, -most_kw), most_kw)

    def note_written(self, set_point: SetPoint, at_s: float) -> None:
        power_kw = set_point.power_kw
        if power_kw is None or self.is_released or power_kw != self.written_kw:
            self.followed_s = at_s
        self.is_released = power_kw is None
        self.written_kw, self.written_s, self.failing_s = power_kw, at_s, None

    def find_deviation(self, measured_kw: float | None, at_s: float) -> str | None:
        """The sentence on a battery that has not followed for as long as it may take."""
        if self.is_released or self.written_kw is None or measured_kw is None or self.followed_s is None:
            return None
        if abs(measured_kw - self.written_kw) <= self.limits.deviation_kw:
            self.followed_s = at_s
            return None
        if at_s - self.followed_s < self.limits.follow_within_s:
            return None
        return f"{measured_kw:.6g} kW measured, {self.written_kw:.6g} kW asked"

    def find_failure(self, at_s: float) -> bool:
        """Whether the site has been out of reach for too long."""
        self.failing_s = at_s if self.failing_s is None else self.failing_s
        return at_s - self.failing_s >= self.limits.follow_within_s


class BatteryControl:
    """A thread that carries out a controller's decisions and acknowledges them."""

    def __init__(
        self,
        asset: UUID,
        limits: Dispatch,
        connection: Connection,
        *,
        plan: Plan,
        clock: ClockComparison,
        measured: Callable[[str], Latest | None],
        acknowledge: Callable[[Acknowledgement], None],
    ) -> None:
        self._asset, self._connection, self._clock = asset, connection, clock
        self._measured, self._acknowledge = measured, acknowledge
        self._controller = Controller(limits, plan)
        self._lock = threading.Lock()
        self._woken, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._control_battery, name=f"control-{asset}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._woken.set()
        self._thread.join(10)

    def take_plan(self, plan: Plan) -> None:
        with self._lock:
            changed = find_first_change(self._controller.plan, plan, now())
            self._controller.plan = plan
        if changed is not None:
            self._acknowledge_period("RECEIVED", changed, plan.version)
            self._woken.set()

    def wake(self) -> None:
        """Look at the clock now."""
        self._woken.set()

    def _control_battery(self) -> None:
        while not self._stopping.is_set():
            try:
                self._take_step()
            except Exception:  # noqa: BLE001  # a fault in one step must not end the control of the battery
                _log.exception("Battery %s: a step of its control failed.", self._asset)
            self._woken.wait(TICK_S)
            self._woken.clear()

    def _take_step(self) -> None:
        instant, at_s = now(), time.monotonic()
        with self._lock:
            controller = self._controller
            step = controller.decide(instant, at_s, clock_is_too_far=self._clock.is_too_far)
            version = controller.plan.version
        if step.refusal is not None:
            self._acknowledge_period("REJECTED", period_of(instant), version, step.refusal)
        if step.set_point is not None:
            self._write_set_point(step.set_point, instant, version)
        deviation = controller.find_deviation(self._find_measured(), time.monotonic())
        if deviation is not None:
            self._acknowledge_period("NOT_FOLLOWED", period_of(instant), version, deviation)

    def _write_set_point(self, set_point: SetPoint, instant: datetime, version: int) -> None:
        try:
            self._connection.write(set_point)
        except SiteUnreachable as error:
            if self._controller.find_failure(time.monotonic()) and set_point.power_kw is not None:
                self._acknowledge_period(
                    "REJECTED", period_of(instant), version, f"the site cannot be reached: {error}"
                )
            return
        self._controller.note_written(set_point, time.monotonic())
        if set_point.power_kw is not None and self._controller.plan.find_power(instant) is not None:
            self._acknowledge_period("APPLIED", period_of(instant), version)

    def _find_measured(self) -> float | None:
        """Without what the battery gives for FCR and aFRR, which no set-point of the gateway asks for."""
        power_kw = self._find_recent("active_power")
        return None if power_kw is None else power_kw - (self._find_recent("reserve_power") or 0.0)

    def _find_recent(self, signal: str) -> float | None:
        latest = self._measured(signal)
        if latest is None or now().timestamp() - latest.time_us / 1_000_000 > MAX_SAMPLE_AGE_S:
            return None
        return latest.value

    def _acknowledge_period(self, status: Status, period: datetime, version: int, reason: str | None = None) -> None:
        """Once for each quarter-hour, version and status."""
        said = self._controller.said
        if version < 1 or (period, version, status) in said:
            return
        for known in [one for one in said if one[0] < period_of(now())]:
            said.discard(known)
        said.add((period, version, status))
        self._acknowledge(Acknowledgement(self._asset, version, period, status, now(), reason))
