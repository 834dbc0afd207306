"""The book of a physical asset over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.capacity.availability import CHARGE, DISCHARGE, ENERGY, PERIOD_MS
from gridloom.capacity.book import BookLine, CapacityBook
from gridloom.capacity.model import Floats, Holding, HoldingKind, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import load_battery_capacity
from gridloom.kernel.permission import Permission
from gridloom.market_calendar import touched_periods
from gridloom.physical_assets.commitments.model import (
    AncillaryHeld,
    Commitments,
    CommittedAmount,
    Holder,
)
from gridloom.physical_assets.window_query import WindowQuery, requested_window
from gridloom.platform.http import JSON, Request, Stream, operation
from gridloom.platform.http.fields import to_json
from gridloom.platform.http.tables import time_texts
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset
from gridloom.platform.identity.store.organisations import read_organisation_names

TAG = "Physical assets"

READ = Permission.READ_SCHEDULES
SLICE_PERIODS: Final = 1_000


@operation(
    "GET",
    PHYSICAL_ASSET + "/commitments",
    summary="Read what is held of an asset and what is free",
    access=READ,
    response_schema=Commitments,
    columns=30,
)
async def read_commitments(request: Request, physical_asset_id: UUID, query: WindowQuery) -> Stream:
    """Its book in every delivery period that the window touches: what is rated and available, what virtual assets,
    auctions, balancing capacity and the own schedule hold of it, and what is free. Nothing is sold twice: whatever
    takes some is validated against this book.

    The asset's owner and the platform's operator also see who holds what.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    window = await requested_window(request.db, query)
    first, end = touched_periods(window)
    capacity = (await load_battery_capacity(request.db, [authorized.key], first, end))[authorized.key]
    sees_holders = request.caller.is_operator or authorized.organisation_id == request.caller.organisation_id
    head = Commitments(physical_asset_id=physical_asset_id, start=window.start, end=window.end, commitments=[])
    names = await read_organisation_names(request.db, holding_organisations(capacity)) if sees_holders else None
    return Stream(stream_commitments(to_json(head), capacity, first, end, names), JSON)


def holding_organisations(capacity: BatteryCapacity) -> set[UUID]:
    return {one.organisation_id for one in capacity.holdings if one.organisation_id is not None}


async def stream_commitments(
    head: bytes, capacity: BatteryCapacity, first: int, end: int, names: Mapping[UUID, str] | None
) -> AsyncIterator[bytes]:
    """The answer a slice at a time. head: all of it but the points, whose list is empty; names: of the organisations
    that hold something, for a caller who sees them."""
    before, _, after = head.partition(b"[]")
    yield before + b"["
    book = await asyncio.to_thread(capacity.book, first, end)
    amounts = book.free, book.missing
    for low in range(first, end, SLICE_PERIODS):
        high = min(low + SLICE_PERIODS, end)
        rows = await asyncio.to_thread(_write_rows, capacity, book, amounts, low, high, names)
        yield rows if low == first else b"," + rows
    yield b"]" + after


def _write_rows(
    capacity: BatteryCapacity,
    book: CapacityBook,
    free_and_missing: tuple[Floats, Floats],
    first: int,
    end: int,
    names: Mapping[UUID, str] | None,
) -> bytes:
    """Between two changes of the book only the time differs, so each step is written once and repeated."""
    times = time_texts((np.arange(first, end) * PERIOD_MS).astype("datetime64[ms]")).tolist()
    steps = book.steps_between(first, end)
    rows = []
    for step in range(steps.start, steps.stop):
        parts = {
            name: _show_amount(book, step, column, *free_and_missing)
            for name, column in (("charge", CHARGE), ("discharge", DISCHARGE), ("energy", ENERGY))
        }
        rest = b",".join(b'"%s":%s' % (name.encode(), to_json(amount)) for name, amount in parts.items())
        low, high = (min(max(int(edge), first), end) for edge in book.edges[step : step + 2])
        if names is not None:
            rest += b',"holders":' + to_json(_list_holders(capacity, low, names))
        rows += [b'{"time":"%s",%s}' % (time.encode(), rest) for time in times[low - first : high - first]]
    return b",".join(rows)


def _show_amount(book: CapacityBook, step: int, column: int, free: Floats, missing: Floats) -> CommittedAmount:
    line = book.lines[:, step, column]
    return CommittedAmount(
        rated=float(book.rated[step, column]),
        available=float(book.available[step, column]),
        promised=_round_amount(line[BookLine.PROMISED]),
        offered=_round_amount(line[BookLine.AUCTIONED]),
        ancillary=AncillaryHeld(
            fcr=_round_amount(line[BookLine.FCR] + line[BookLine.FCR_BID]),
            afrr_capacity=_round_amount(line[BookLine.AFRR_CAPACITY] + line[BookLine.AFRR_CAPACITY_BID]),
            afrr_energy=_round_amount(line[BookLine.AFRR_ENERGY] + line[BookLine.AFRR_ENERGY_BID]),
        ),
        own_schedule=_round_amount(line[BookLine.OWN]),
        free=_round_amount(free[step, column]),
        missing=_round_amount(missing[step, column]),
    )


def _round_amount(amount: float) -> float:
    """To the milliwatt: rounding of sums of doubles is dropped."""
    return round(float(amount), 6)


def _list_holders(capacity: BatteryCapacity, period: int, names: Mapping[UUID, str]) -> list[Holder]:
    found = [
        holder
        for holding in capacity.holdings
        if holding.first <= period < holding.end
        for holder in _holder_of(holding, names)
    ]
    own_kw = _own_power_kw(capacity.own, period)
    return found + ([Holder(kind=HoldingKind.OWN_SCHEDULE, power=own_kw)] if own_kw else [])


def _holder_of(holding: Holding, names: Mapping[UUID, str]) -> list[Holder]:
    who: dict[str, object] = {}
    if holding.kind is HoldingKind.VIRTUAL_ASSET:
        who = {"virtual_asset_id": holding.holder_id, "organisation_id": holding.organisation_id}
        if holding.organisation_id is not None and holding.organisation_id in names:
            who["organisation_name"] = names[holding.organisation_id]
    elif holding.kind is HoldingKind.AUCTION:
        who = {"auction_id": holding.holder_id}
    elif holding.product is not None:
        who = {"product": holding.product}
    powers = [power for power in (holding.discharge_kw, -holding.charge_kw) if power]
    return [Holder(kind=holding.kind, power=power, **who) for power in powers]  # type: ignore[arg-type]


def _own_power_kw(own: OwnSchedule, period: int) -> float:
    index = int(np.searchsorted(own.periods, period))
    return float(own.power_kw[index]) if index < len(own.periods) and own.periods[index] == period else 0.0
