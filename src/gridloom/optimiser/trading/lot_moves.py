"""Moving single lots between quarter-hours for as long as that earns more: what rounding alone leaves on the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from gridloom.optimiser.solving.programme import BatteryProgramme, Bools, Floats
from gridloom.optimiser.trading.positions import tolerance_kwh

MAX_MOVES: Final = 40
_GAIN_EUR: Final = 1e-6


@dataclass(frozen=True, slots=True)
class LotMarket:
    """The size of a lot, what trading a MWh must earn at least, and what a MWh left in store at the end is worth."""

    lot_kw: float
    hurdle_eur_mwh: float
    stored_eur_mwh: float

    def value_eur(self, programme: BatteryProgramme, before_kw: Floats, power_kw: Floats) -> float:
        """Of a position: what it earns and leaves in store, less the hurdle of its trades."""
        traded_mwh = float(np.abs(power_kw - before_kw).sum()) * programme.step_h / 1000
        end_kwh = float(programme.energy_kwh(power_kw)[-1])
        stored_eur = self.stored_eur_mwh * end_kwh / 1000
        return programme.value_eur(power_kw) + stored_eur - self.hurdle_eur_mwh * traded_mwh


def improve_lots(programme: BatteryProgramme, before_kw: Floats, power_kw: Floats, market: LotMarket) -> Floats:
    """The position after the best moves of one lot, up or down, alone or from one period to another, one by one."""
    power_kw, lot_kw = power_kw.copy(), market.lot_kw
    for _ in range(MAX_MOVES):
        gain_eur, up, down = _find_best_move(programme, before_kw, power_kw, market)
        if gain_eur <= _GAIN_EUR:
            break
        if up is not None:
            power_kw[up] += lot_kw
        if down is not None:
            power_kw[down] -= lot_kw
    return power_kw


def _find_best_move(
    programme: BatteryProgramme, before_kw: Floats, power_kw: Floats, market: LotMarket
) -> tuple[float, int | None, int | None]:
    """The gain of the best move and the periods in which it exports a lot more, and less."""
    slack_kwh = tolerance_kwh(programme)
    energy_kwh = programme.energy_kwh(power_kw)
    fall_room = energy_kwh - programme.lowest_kwh + slack_kwh
    rise_room = programme.highest_kwh - energy_kwh + slack_kwh
    up_eur, up_kwh, up_free = _describe_step(programme, before_kw, power_kw, market.lot_kw, market)
    down_eur, down_kwh, down_free = _describe_step(programme, before_kw, power_kw, -market.lot_kw, market)
    least_fall, least_rise = _find_range_minima(fall_room), _find_range_minima(rise_room)
    tail_fall, tail_rise = least_fall[:, -1], least_rise[:, -1]
    alone_up = np.where(up_free & (tail_fall >= -up_kwh), up_eur, -np.inf)
    alone_down = np.where(down_free & (tail_rise >= down_kwh), down_eur, -np.inf)
    gain = up_eur[:, None] + down_eur[None, :]
    worth = gain > _GAIN_EUR
    worth &= up_free[:, None] & down_free[None, :]
    ups, downs = np.nonzero(worth)
    # Between the two periods only the first of both has moved; from the later one on both have.
    later, earlier = np.maximum(ups, downs), np.minimum(ups, downs)
    net_kwh = up_kwh[ups] + down_kwh[downs]
    fits = np.where(net_kwh < 0, tail_fall[later] >= -net_kwh, tail_rise[later] >= net_kwh)
    fits &= np.where(
        ups < downs,
        least_fall[earlier, later - 1] >= -up_kwh[ups],
        least_rise[earlier, later - 1] >= down_kwh[downs],
    )
    fits &= ups != downs
    pair = np.where(fits, gain[ups, downs], -np.inf)
    choices: list[tuple[float, int | None, int | None]] = []
    if len(pair):
        best = int(np.argmax(pair))
        choices.append((float(pair[best]), int(ups[best]), int(downs[best])))
    choices += [
        (float(alone_up.max()), int(np.argmax(alone_up)), None),
        (float(alone_down.max()), None, int(np.argmax(alone_down))),
    ]
    return max(choices, key=lambda choice: choice[0])


def _describe_step(
    programme: BatteryProgramme, before_kw: Floats, power_kw: Floats, step_kw: float, market: LotMarket
) -> tuple[Floats, Floats, Bools]:
    """Of a step in each period alone: what it earns, how it moves the energy, whether power and cycles allow it."""
    after_kw = power_kw + step_kw
    free = (after_kw <= programme.max_kw + 1e-6) & (after_kw >= programme.min_kw - 1e-6)
    discharged_kw = np.maximum(after_kw, 0.0) - np.maximum(power_kw, 0.0)
    traded_kw = np.abs(after_kw - before_kw) - np.abs(power_kw - before_kw)
    earned = programme.price_eur_mwh * step_kw - programme.wear_eur_mwh * discharged_kw
    earned -= market.hurdle_eur_mwh * traded_kw
    factor = np.where(power_kw < 0, programme.charge_efficiency, 1 / programme.discharge_efficiency)
    factor_after = np.where(after_kw < 0, programme.charge_efficiency, 1 / programme.discharge_efficiency)
    change_kwh = (power_kw * factor - after_kw * factor_after) * programme.step_h
    for limit in programme.cycles:
        used_kwh = np.bincount(
            limit.groups, np.maximum(power_kw, 0.0) * programme.step_h, minlength=len(limit.left_kwh)
        )
        left_kwh = (limit.left_kwh - used_kwh + tolerance_kwh(programme))[limit.groups]
        free &= discharged_kw * programme.step_h <= np.maximum(left_kwh, 0.0)
    value = (earned * programme.step_h + market.stored_eur_mwh * change_kwh) / 1000
    return value, change_kwh, free


def _find_range_minima(room: Floats) -> Floats:
    """From each period (row) to each later one (column) the least of the values between, both included."""
    table = np.where(_list_later(len(room)), room[None, :], np.inf)
    return np.asarray(np.minimum.accumulate(table, axis=1))


@lru_cache(maxsize=8)
def _list_later(count: int) -> Bools:
    return np.asarray(np.arange(count)[None, :] >= np.arange(count)[:, None])
