"""Until when orders are taken at the stages of a day, and which stages come before another; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from gridloom.ancillary.gates import TenderGates
from gridloom.ancillary.products import ProductKey, product_key
from gridloom.kernel.market_stages import STAGES, Stage, gate_of, traded_periods
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.problem import Problem
from gridloom.market_calendar import market_day_periods
from gridloom.virtual_assets.model import VirtualAsset


class GatePassed(Problem, status=409, title="The gate of the stage has passed"):
    """An order is placed and cancelled until the gate of its stage: the exchange's, less the lead of the platform.

    The instant of the gate itself is too late. `gate` is that instant, by the platform's clock.
    """


class NoDeliveryDay(Problem, status=422, title="The virtual asset does not live on that day"):
    """A stage of a delivery day is one of virtual assets that live on some part of it."""


_FIRST_PRODUCT = {Stage.FCR: "NEGPOS_00_04", Stage.AFRR: "POS_00_04"}


@dataclass(frozen=True, slots=True)
class OrderGates:
    """The gates of orders: those of the tenders and of the exchange, each less the lead of its stage."""

    tenders: TenderGates
    leads: Mapping[Stage, timedelta]

    def gate(self, stage: Stage, day: date) -> datetime:
        """The first instant that is too late, in UTC."""
        return self.exchange_gate(stage, day) - self.leads[stage]

    def exchange_gate(self, stage: Stage, day: date) -> datetime:
        if stage in _FIRST_PRODUCT:
            return self.tenders.closure(_first_product(stage, day))
        return gate_of(stage, day)

    def next_stage(self, day: date, now: datetime) -> Stage | None:
        """The first stage that still takes orders."""
        return next((stage for stage in STAGES if now < self.gate(stage, day)), None)

    def check_open(self, stage: Stage, day: date, now: datetime) -> None:
        gate = self.gate(stage, day)
        if now >= gate:
            raise GatePassed(
                f"Orders at {stage} for {day} were taken until {format_instant(gate)}.", gate=format_instant(gate)
            )


def _first_product(stage: Stage, day: date) -> ProductKey:
    return product_key(day, _FIRST_PRODUCT[stage])


def earlier_stages(stage: Stage) -> tuple[Stage, ...]:
    return STAGES[: stage.place]


def later_stages(stage: Stage) -> tuple[Stage, ...]:
    return STAGES[stage.place + 1 :]


def lived_periods(asset: VirtualAsset, day: date) -> tuple[int, int]:
    """The first period of the day within the asset's life and the one after the last."""
    first, end = asset.clip(*market_day_periods(day))
    if first >= end:
        raise NoDeliveryDay(f"The virtual asset {asset.id} does not live on {day}.")
    return first, end


def tradable_periods(asset: VirtualAsset, stage: Stage, day: date) -> tuple[int, int]:
    """The same for what is traded at the stage."""
    first, end = asset.clip(*traded_periods(stage, day))
    if first >= end:
        raise NoDeliveryDay(f"The virtual asset {asset.id} does not live in what {stage} trades of {day}.")
    return first, end
