"""Trips of energy as they cross the wire."""

from __future__ import annotations

from collections.abc import Sequence

from gridloom.kernel.market_time import period_start
from gridloom.optimiser.schedules.wire import TripLegView, TripView
from gridloom.optimiser.trading.trips import Trip, TripLeg


def view_trips(trips: Sequence[Trip], first: int) -> list[TripView]:
    """`first` is the period that the trips' periods are counted from."""
    return [
        TripView(
            bought=_view_leg(trip.bought, first),
            sold=_view_leg(trip.sold, first),
            gain=trip.gain_eur,
            limited_by=list(trip.limited_by),
        )
        for trip in trips
    ]


def _view_leg(leg: TripLeg | None, first: int) -> TripLegView | None:
    if leg is None:
        return None
    return TripLegView(
        start=period_start(first + leg.first),
        end=period_start(first + leg.end),
        energy=leg.energy_kwh,
        price=leg.price_eur_mwh,
    )
