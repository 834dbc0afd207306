"""Capacity to offer: FCR beside the wholesale market, and aFRR beside the FCR that is fixed by then; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import BatteryProgramme, Floats
from gridloom.optimiser.solving.reserves import ReserveRoom, ReserveSlot, choose_reserves

FCR_POWER_SHARE: Final = 0.8
BID_SHARE: Final = 0.7
"""An aFRR bid is this part of the marginal price to be expected; it counts by the same part once more, since it may be
refused."""


def bid_price(marginal_eur_mw_h: Floats) -> Floats:
    """With two decimals, as markets take them."""
    return np.asarray(np.round(BID_SHARE * marginal_eur_mw_h, 2))


def make_slots(
    programme: BatteryProgramme,
    spans: Sequence[tuple[int, int]],
    price_eur_mw_h: Floats,
    *,
    up: bool,
    down: bool,
    reserve_h: float,
    most_kw: float,
) -> list[ReserveSlot]:
    """A slot for each block of the programme, within the least power of its periods and `most_kw`."""
    slots = []
    for (first, end), price in zip(spans, price_eur_mw_h.tolist(), strict=True):
        hours = (end - first) * programme.step_h
        held_kw = min(
            float(programme.discharge_kw[first:end].min()) if up else most_kw,
            float(programme.charge_kw[first:end].min()) if down else most_kw,
            most_kw,
        )
        slots.append(ReserveSlot(first, end, price * hours / 1000, up, down, reserve_h, max(held_kw, 0.0)))
    return slots


def offer_capacity(
    programme: BatteryProgramme, slots: Sequence[ReserveSlot], deadline: Deadline, room: ReserveRoom | None = None
) -> Floats:
    """The power of each slot that is worth most beside the wholesale market, in whole kW.

    A price of zero or less is no reason to offer.
    """
    return choose_reserves(programme, slots, deadline, room) if slots else np.zeros(0)
