"""Asset monitoring over HTTP: points in, series out, live."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from gridloom.kernel.market_time import Resolution
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.kernel.window import Window
from gridloom.monitoring import segments, views
from gridloom.monitoring.model import (
    EARLIEST_US,
    LATEST_US,
    STANDARD_SIGNALS,
    instant_of,
    microseconds,
    signal_type,
)
from gridloom.monitoring.offload import HEAVY_BYTES, off_loop, read_semaphore_of
from gridloom.monitoring.query import rendering
from gridloom.monitoring.query.aggregation import Aggregation
from gridloom.monitoring.query.latest import point_of, unpack
from gridloom.monitoring.query.stream import TelemetryHub, read_cursor, stream_points
from gridloom.monitoring.query.summaries import sum_signals
from gridloom.monitoring.store import bodies, heads
from gridloom.platform.database.clock import platform_now
from gridloom.platform.events.stream_slots import StreamSlots
from gridloom.platform.http import (
    ARROW,
    CSV,
    EVENT_STREAM,
    JSON,
    PARQUET,
    Content,
    EventStream,
    Page,
    Paging,
    Request,
    Stream,
    operation,
)
from gridloom.platform.identity.authorization import authorize_asset

TAG = "Asset monitoring"
READ = Permission.READ_MONITORING
CREATE = Permission.CREATE_MONITORING
_DAY = timedelta(hours=24)
MAX_SUMMED_SIGNALS = 256
_FORMATS = (JSON, CSV, ARROW, PARQUET)


@operation(
    "GET",
    "/monitoring/{physicalAssetID}/signals",
    summary="List the signals of an asset",
    access=READ,
    replica_read=True,
)
async def list_signals(request: Request, physical_asset_id: UUID, query: Paging) -> Page[views.Signal]:
    """By name, each with its unit, its kind, and the times of its first and last point."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    head = await heads.find_head(request.db, authorized.key)
    if head is None:
        return Page([])
    ids = await heads.signal_ids(request.db, authorized.key)
    after = query.after(str)
    names = sorted(name for name in ids if after is None or name > after)[: query.limit + 1]
    latest = unpack(head.latest)
    compacted, in_segments = await bodies.first_times(request.db, authorized.key)
    packed = [segment.body for segment in in_segments]
    firsts = await off_loop(sum(map(len, packed)) > HEAVY_BYTES // 4, segments.first_times, packed, compacted)
    signals = [
        views.Signal(
            name=name,
            **signal_type(name)._asdict(),
            first=instant_of(firsts.get(ids[name], int(latest["time"][ids[name]]))),
            last=instant_of(int(latest["time"][ids[name]])),
        )
        for name in names
        if ids[name] < len(latest)
    ]
    return query.page(signals, lambda signal: signal.name)


@operation(
    "GET",
    "/monitoring/{physicalAssetID}/datapoints",
    summary="Read series",
    access=READ,
    produces=_FORMATS,
    response_schema=views.DataPoints,
    replica_read=True,
    columns=64,
)
async def read_datapoints(request: Request, physical_asset_id: UUID, query: views.DataPointsQuery) -> Content | Stream:
    """The points of [start, end) as they are, or in buckets named by their start: minutes, quarter-hours, hours, market
    days. A bucket without points is left out. `time-weighted-avg` lets each value count for as long as it held, for 15
    minutes at most. Tables have the columns `signal`, `time`, `value`.

    Signals come in the order asked for (else by name), each in the order of time.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    window = await _choose_window(request, query.start, query.end)
    start_us, end_us = _times_of(window)
    if query.aggregation is Aggregation.TIME_WEIGHTED_AVG:
        # Values hold on, but not into a time that has not come.
        end_us = max(start_us, min(end_us, microseconds(await platform_now(request.db))))
    selection = rendering.Selection(
        asset_key=authorized.key,
        signals=await _choose_signals(request, physical_asset_id, authorized.key, query.datapoints),
        start_us=start_us,
        end_us=end_us,
        resolution=query.resolution,
        aggregation=query.aggregation,
        semaphore=read_semaphore_of(request.caller.organisation_id),
    )
    if query.resolution is not Resolution.RAW:
        _reject_many_signals(selection.signals)
    return await rendering.answer(request.db, selection, request.accepts, f"telemetry-{physical_asset_id}")


@operation(
    "GET",
    "/monitoring/{physicalAssetID}/datapoints/latest",
    summary="Read the latest point of each signal",
    access=READ,
    replica_read=True,
)
async def read_latest_datapoints(
    request: Request, physical_asset_id: UUID, query: views.SelectionQuery
) -> views.Latest:
    """The point with the latest time of each signal; a signal that never had one is left out."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    chosen = await _choose_signals(request, physical_asset_id, authorized.key, query.datapoints)
    head = await heads.find_head(request.db, authorized.key)
    latest = unpack(head.latest if head is not None else b"")
    known = {name: signal_id for name, signal_id in chosen.items() if signal_id is not None and signal_id < len(latest)}
    return views.Latest(
        meta_data=[views.LatestMeta(data_point_name=name, **signal_type(name)._asdict()) for name in known],
        data={name: point_of(latest, signal_id) for name, signal_id in known.items()},
    )


@operation(
    "GET",
    "/monitoring/{physicalAssetID}/datapoints/sum/detailed",
    summary="Sum signals over a span",
    access=READ,
    replica_read=True,
    columns=64,
)
async def sum_datapoints(request: Request, physical_asset_id: UUID, query: views.SpanQuery) -> views.DetailedSum:
    """Count, sum, extremes and mean of each signal. For powers also the energy charged, discharged and net in kWh, each
    sample holding until the next, for 15 minutes at most, and the full cycles: energy discharged divided by the energy
    capacity in force at the start.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    window = await _choose_window(request, query.start, query.end)
    chosen = await _choose_signals(request, physical_asset_id, authorized.key, query.datapoints)
    _reject_many_signals(chosen)
    semaphore = read_semaphore_of(request.caller.organisation_id)
    data = await sum_signals(request.db, authorized.key, chosen, *_times_of(window), semaphore=semaphore)
    return views.DetailedSum(start=window.start, end=window.end, data=data)


@operation(
    "GET",
    "/monitoring/{physicalAssetID}/stream",
    summary="Follow new points, as server-sent events",
    access=READ,
    produces=(EVENT_STREAM,),
)
async def follow_datapoints(request: Request, physical_asset_id: UUID, query: views.SelectionQuery) -> EventStream:
    """First an event `latest` with the last point of each signal, then an event `datapoints` with the columns of
    whatever is stored.

    A client that comes back with `Last-Event-ID` gets what was stored since. After some minutes away part of that
    may have been compacted; an event `gap` then says to read that span again. A comment every 15 seconds
    shows that the connection lives.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    asked = request.header("last-event-id")
    wanted = frozenset(query.datapoints) if query.datapoints is not None else None
    cursor = None if asked is None else read_cursor(asked)
    hub = request.resources[TelemetryHub]
    slot = await request.resources[StreamSlots].take(request)
    return EventStream(stream_points(request, hub, slot, physical_asset_id, authorized.key, wanted, cursor))


async def _choose_window(request: Request, start: datetime | None, end: datetime | None) -> Window:
    """The 24 hours up to now where nothing else is asked for. As long as one likes: answers are made while they are
    sent."""
    if end is None:
        end = await platform_now(request.db)
    if start is None:
        start = end - _DAY
    if start >= end:
        raise BadRequest(
            "The window ends before it starts.", errors=[FieldError("query:end", "is not after the start")]
        )
    return Window(start, end)


def _times_of(window: Window) -> tuple[int, int]:
    """The window in microseconds, as far as there can be points in it."""
    start_us = min(max(microseconds(window.start), EARLIEST_US), LATEST_US)
    return start_us, min(max(microseconds(window.end), start_us), LATEST_US)


def _reject_many_signals(signals: Mapping[str, object]) -> None:
    """Buckets and sums are made signal by signal."""
    if len(signals) > MAX_SUMMED_SIGNALS:
        raise BadRequest(
            f"Buckets and sums are answered for up to {MAX_SUMMED_SIGNALS} signals at a time, and this asks for "
            f"{len(signals)}. Name them in `datapoints`, in several requests.",
            errors=[FieldError("query:datapoints", f"more than {MAX_SUMMED_SIGNALS} signals")],
        )


async def _choose_signals(
    request: Request, asset_id: UUID, asset_key: int, names: tuple[str, ...] | None
) -> dict[str, int | None]:
    """The ids of the asked signals, all by name where none is named; None for a known name without points."""
    ids = await request.resources[heads.SignalIdCache].read(request.db, asset_id, asset_key, names)
    if names is None:
        return {name: ids[name] for name in sorted(ids)}
    unknown = [name for name in names if name not in ids and name not in STANDARD_SIGNALS]
    if unknown:
        errors = [FieldError("query:datapoints", f"{name} is not a signal of this asset") for name in unknown]
        raise BadRequest(f"The asset has no signal {', '.join(unknown)}.", errors=errors)
    return {name: ids.get(name) for name in names}
