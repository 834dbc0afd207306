"""Batteries following their dispatch, and what their meters report: every minute of the sandbox's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gridloom.kernel.balancing import AFRR_DIRECTIONS, Direction, ReserveProduct
from gridloom.kernel.market_time import PERIOD, market_day_of, market_day_window
from gridloom.sandbox.simulator import random_streams
from gridloom.sandbox.simulator.api_session import RequestRejected, record_rejection, written
from gridloom.sandbox.simulator.batteries import physics
from gridloom.sandbox.simulator.batteries.physics import BatteryArray, SimulatedMinutes, State
from gridloom.sandbox.simulator.market.balancing import frequency_response
from gridloom.sandbox.simulator.scenario import BATTERIES
from gridloom.sandbox.simulator.state import SimulatorState
from gridloom.sandbox.simulator.step_context import StepContext
from gridloom_client import ARROW

MINUTE = timedelta(minutes=1)
MINUTES_A_PERIOD = 15
LONGEST_RUN = timedelta(hours=12)
"""Of the physics at once: with its sums over powers of a factor it stays far from the ends of a double."""
UPKEEP_FROM, UPKEEP_SHARE = 0.002, 0.05
"""Upkeep starts when this share of the store is owed, with at most this share of the power, in idle quarter-hours."""
UPKEEP_UNTIL = 0.02
"""More than that, called by balancing, is drift to the platform, which trades it the day before."""

CELLS = BatteryArray(
    charge_kw=np.array([battery.power_kw for battery in BATTERIES]),
    discharge_kw=np.array([battery.power_kw for battery in BATTERIES]),
    capacity_kwh=np.array([battery.energy_kwh for battery in BATTERIES]),
    charge_efficiency=np.array([battery.efficiency for battery in BATTERIES]),
    discharge_efficiency=np.array([battery.efficiency for battery in BATTERIES]),
)


@dataclass(frozen=True, slots=True)
class Orders:
    """The orders of all batteries over some quarter-hours: [battery][period], kW."""

    start: datetime
    power_kw: np.ndarray
    fcr_kw: np.ndarray
    afrr_kw: dict[Direction, np.ndarray]
    planned_kwh: np.ndarray
    """[battery]: what each is planned to hold at the start, which no later run changes; NaN where that is not known"""
    acknowledged: np.ndarray
    """[battery][period]: whether a site says what became of the order; one period more, which ends at the start"""

    @property
    def periods(self) -> int:
        return int(self.power_kw.shape[1])


@dataclass(frozen=True, slots=True)
class Metered:
    """Their measured results: [battery][minute]."""

    start: datetime
    signals: dict[str, np.ndarray]
    state: State
    owed_kwh: np.ndarray
    simulated: SimulatedMinutes
    is_at_site: np.ndarray
    """[battery][minute]: measured by the battery's own site, and not reported here"""


async def meter(context: StepContext, until: datetime) -> None:
    """Have the batteries do what they were scheduled until now, and report it."""
    since = context.memory.metered_until
    assert since is not None
    while since < until:
        end = min(until, since + LONGEST_RUN)
        orders = await read_orders(context, since, end)
        metered = run_orders(context, orders, orders.acknowledged[:, 1:])
        await send(context, metered, 0, len(metered.signals["frequency"][0]))
        context.memory.store_state(metered.state, metered.owed_kwh)
        await _take_measured_energy(context, metered)
        context.memory.metered_until = since = end


# --- orders ----------------------------------------------------------------------------------------------------------


async def read_orders(context: StepContext, start: datetime, end: datetime) -> Orders:
    """The dispatch of all batteries over a window."""
    answers = await asyncio.gather(
        *(_read_dispatch(context, battery.slug, start - PERIOD, end) for battery in BATTERIES)
    )
    periods = (end - start) // PERIOD
    power, fcr = np.zeros((len(BATTERIES), periods)), np.zeros((len(BATTERIES), periods))
    afrr = {direction: np.zeros((len(BATTERIES), periods)) for direction in AFRR_DIRECTIONS}
    planned_kwh = np.full(len(BATTERIES), np.nan)
    acknowledged = np.zeros((len(BATTERIES), periods + 1), dtype=bool)
    for row, points in enumerate(answers):
        for point in points:
            index = (datetime.fromisoformat(point["time"]) - start) // PERIOD
            acknowledged[row, index + 1] = point.get("acknowledgement", {}).get("status", "RECEIVED") != "RECEIVED"
            if index < 0:
                continue
            if index == 0:
                planned_kwh[row] = point["stateOfChargePercentage"] / 100 * CELLS.capacity_kwh[row]
            power[row, index] = point["power"]
            for part in point["parts"]:
                if part["kind"] == ReserveProduct.FCR:
                    fcr[row, index] += part["power"]
                elif part["kind"] in (ReserveProduct.AFRR_POS, ReserveProduct.AFRR_NEG):
                    afrr[ReserveProduct(part["kind"]).direction][row, index] += abs(part["power"])
    # Parts are listed by ids that chance makes: the last digit of their sum may not depend on it.
    afrr = {direction: np.round(of_parts, 6) for direction, of_parts in afrr.items()}
    return Orders(start, power, np.round(fcr, 6), afrr, planned_kwh, acknowledged)


async def _read_dispatch(context: StepContext, slug: str, start: datetime, end: datetime) -> list[Any]:
    target = f"/physical-assets/{context.memory.batteries[slug]}/dispatch?start={written(start)}&end={written(end)}"
    try:
        points: list[Any] = (await context.operator.get(target))["dispatch"]
    except RequestRejected as problem:
        record_rejection(f"dispatch of {slug}", problem)
        return []
    return points


# --- what comes of them ----------------------------------------------------------------------------------------------


def run_orders(context: StepContext, orders: Orders, is_at_site: np.ndarray) -> Metered:
    """is_at_site: [battery][period] whether the battery's own site measures."""
    memory, minutes = context.memory, orders.periods * MINUTES_A_PERIOD
    frequency = _join_days(orders.start, minutes, MINUTE, context.market_data.frequency_hz)
    reserve_kw = np.repeat(orders.fcr_kw, MINUTES_A_PERIOD, axis=1) * frequency_response(frequency)
    for direction, sign in ((Direction.POS, 1.0), (Direction.NEG, -1.0)):
        called = _join_days(
            orders.start, orders.periods, PERIOD, partial(context.market_data.activation, direction=direction)
        )
        reserve_kw += sign * np.repeat(orders.afrr_kw[direction] * called, MINUTES_A_PERIOD, axis=1)
    asked_kw = np.repeat(orders.power_kw, MINUTES_A_PERIOD, axis=1)
    # What is missing of the plan, and will be in the end if all goes as asked; the platform plans from what was
    # measured, too.
    short_kwh = orders.planned_kwh - np.array(memory.energy_kwh)
    owed_kwh = np.where(np.isnan(short_kwh), memory.owed_kwh, short_kwh)
    upkeep_kw = np.repeat(_plan_upkeep(owed_kwh, orders), MINUTES_A_PERIOD, axis=1)
    available = find_available(memory, orders.start, minutes)
    state, simulated = physics.run(CELLS, memory.state, asked_kw + reserve_kw + upkeep_kw, available)
    draws = random_streams.stream(
        context.market_data.seed_of(market_day_of(orders.start)), "meters", int(orders.start.timestamp())
    )
    signals = physics.measure(CELLS, simulated, available, draws)
    signals["frequency"] = np.broadcast_to(frequency, (len(BATTERIES), minutes))
    signals["reserve_power"] = np.round(reserve_kw, 1) + 0.0
    signals["upkeep_power"] = np.round(upkeep_kw, 1) + 0.0
    taken = _stored_kwh(simulated.power_kw) - _stored_kwh(asked_kw)
    owed_kwh = owed_kwh + simulated.lost_kwh - taken
    is_at_site = np.repeat(is_at_site, MINUTES_A_PERIOD, axis=1)
    return Metered(orders.start, signals, state, owed_kwh, simulated, is_at_site)


def _stored_kwh(power_kw: np.ndarray) -> np.ndarray:
    """The energy that these powers add to each store."""
    charge, discharge = np.maximum(-power_kw, 0).sum(axis=1), np.maximum(power_kw, 0).sum(axis=1)
    return np.asarray((charge * CELLS.charge_efficiency - discharge / CELLS.discharge_efficiency) / 60)


def _plan_upkeep(owed_kwh: np.ndarray, orders: Orders) -> np.ndarray:
    """Small powers in idle quarter-hours that bring back what rest and frequency response took: [battery][period]."""
    upkeep = np.zeros_like(orders.power_kw)
    owed, limit = owed_kwh, UPKEEP_SHARE * CELLS.charge_kw
    share = np.abs(owed) / CELLS.capacity_kwh
    due = (share > UPKEEP_FROM) & (share < UPKEEP_UNTIL)
    afrr_kw = np.sum(list(orders.afrr_kw.values()), axis=0)
    for period in range(orders.periods):
        idle = due & (orders.power_kw[:, period] == 0) & (afrr_kw[:, period] == 0)
        wanted = np.where(owed > 0, -owed / CELLS.charge_efficiency, -owed * CELLS.discharge_efficiency) * 4
        power = np.where(idle, np.clip(wanted, -limit, limit), 0.0)
        upkeep[:, period] = power
        stored = np.maximum(-power, 0) * CELLS.charge_efficiency - np.maximum(power, 0) / CELLS.discharge_efficiency
        owed = owed - stored / 4
    return upkeep


def find_available(memory: SimulatorState, start: datetime, minutes: int) -> np.ndarray:
    """The available fraction of each battery; an outage counts whether it was announced or not."""
    available = np.ones((len(BATTERIES), minutes))
    for outage in memory.outages:
        row = next(n for n, battery in enumerate(BATTERIES) if battery.slug == outage.battery)
        first, last = (outage.start - start) // MINUTE, (outage.end - start) // MINUTE
        if last > 0 and first < minutes:
            available[row, max(first, 0) : last] -= outage.missing
    return np.maximum(available, 0)


def _join_days(start: datetime, count: int, step: timedelta, of_day: Callable[[date], np.ndarray]) -> np.ndarray:
    """So many values from `start` on, one a step, out of those of whole market days."""
    found: list[np.ndarray] = []
    instant, left = start, count
    while left > 0:
        day = market_day_of(instant)
        offset = (instant - market_day_window(day).start) // step
        part = of_day(day)[offset : offset + left]
        found.append(part)
        left -= len(part)
        instant += len(part) * step
    return np.concatenate(found)


async def _take_measured_energy(context: StepContext, metered: Metered) -> None:
    """The store of a battery whose site has just measured it is what the site says."""
    for row in np.flatnonzero(metered.is_at_site[:, -1]):
        asset = context.memory.batteries[BATTERIES[row].slug]
        answer = await context.operator.get(f"/monitoring/{asset}/datapoints/latest?datapoints=state_of_charge")
        if measured := answer["data"].get("state_of_charge"):
            share = min(max(measured["value"] / 100, 0.0), 1.0)
            context.memory.energy_kwh[row] = round(float(share * CELLS.capacity_kwh[row]), 6)
            context.memory.owed_kwh[row] = 0.0


# --- reporting -------------------------------------------------------------------------------------------------------


async def send(context: StepContext, metered: Metered, first: int, last: int) -> None:
    """Some minutes of all batteries that no site reports, in one request, as a gateway would."""
    if metered.is_at_site[:, first:last].all():
        return
    body = await asyncio.to_thread(_write_arrow, context.memory, metered, first, last)
    await context.operator.send("/monitoring/datapoints", body, ARROW)


def _write_arrow(memory: SimulatorState, metered: Metered, first: int, last: int) -> bytes:
    minutes = last - first
    start_ms = int(metered.start.astimezone(UTC).timestamp() * 1000)
    times = start_ms + 60_000 * np.arange(first, last, dtype=np.int64)
    ids = pa.DictionaryArray.from_arrays(
        pa.array(np.repeat(np.arange(len(BATTERIES), dtype=np.int32), minutes)),
        pa.array([memory.batteries[battery.slug] for battery in BATTERIES]),
    )
    columns = {
        "physicalAssetID": ids.dictionary_decode(),
        "time": pa.array(np.tile(times, len(BATTERIES)), type=pa.timestamp("ms", tz="UTC")),
        **{name: pa.array(values[:, first:last].ravel()) for name, values in metered.signals.items()},
    }
    table = pa.table(columns).filter(pa.array(~metered.is_at_site[:, first:last].ravel()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
