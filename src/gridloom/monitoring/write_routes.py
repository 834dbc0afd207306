"""Points of asset monitoring over HTTP: columns, rows and tables of one asset or many, and InfluxDB's line protocol."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any
from uuid import UUID

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, Forbidden, NotFound, Unprocessable
from gridloom.monitoring import metrics, views
from gridloom.monitoring.ingest.columns import TooManyPoints
from gridloom.monitoring.ingest.entry import TelemetryEntry
from gridloom.monitoring.ingest.ingest import Stored
from gridloom.monitoring.ingest.line_protocol import MAX_FAULTS, ParsedLines
from gridloom.monitoring.ingest.parsing import CachedClock, keep_valid, parse_line_protocol, receive
from gridloom.monitoring.model import REASONS, Received
from gridloom.monitoring.quota import QuotaExceeded, Quotas
from gridloom.physical_assets.store import find_ids_by_name
from gridloom.platform.http import Request, Response, operation
from gridloom.platform.identity.authorization import authorize_asset

TAG = "Asset monitoring"
CREATE = Permission.CREATE_MONITORING


class NothingWritten(Unprocessable, title="None of the points can be stored"):
    """Every point of the request was refused. `refusals` counts them by reason, `errors` points to the first of each.

    Where some points are good, they are stored, and the answer is 200 with the refused ones in it.
    """


class LinesRefused(BadRequest, title="Some lines were refused"):
    """Some lines of the line protocol cannot be read or stored; all others are stored.

    `errors` names the first of them by number, counted from 1. Sending the same lines again fails again.
    """


@operation(
    "POST",
    "/monitoring/{physicalAssetID}/datapoints",
    summary="Store points of one asset",
    access=CREATE,
    audited=False,
    transaction="manual",
    problems=(NothingWritten, QuotaExceeded, TooManyPoints),
)
async def write_datapoints(
    request: Request,
    physical_asset_id: UUID,
    body: Annotated[bytes, views.ONE_ASSET_BODY],
    query: views.WriteQuery,
) -> views.Written:
    """Up to 1,000,000 points: columns `{signal: {time[], value[]}}`, rows `[{signal, time, value, quality?}]`, the same
    rows one a line as NDJSON, or a table as CSV or an Arrow stream, long (`signal`, `time`, `value`) or wide (`time`
    and one column a signal).

    Points may be late and in any order; the same signal and time again overwrites. A point that cannot be stored is
    refused with its reason, and the rest is stored; where every point is refused, that is a problem. What is counted as
    written or overwritten is durable. With `time-unit` numbers are taken as times, counted from 1970 in UTC.
    """
    entry = request.resources[TelemetryEntry]
    authorized = await authorize_asset(entry.choose_pool(request), request.caller, physical_asset_id, CREATE)
    clock = request.resources[CachedClock]
    received = await receive(request, body, clock, many=False, unit=query.time_unit)
    if request.holder is not None:
        await request.resources[Quotas].admit(request.pool, received, {None: authorized.organisation_id}, clock.now_us)
    stored = await entry.store(request, received, {None: authorized.key}, clock.now_us)
    counts = _count_outcome(received, stored.values())
    return views.Written(**counts)


@operation(
    "POST",
    "/monitoring/datapoints",
    summary="Store points of many assets",
    access=CREATE,
    audited=False,
    transaction="manual",
    problems=(NotFound, NothingWritten, QuotaExceeded, TooManyPoints),
    asset_scope="filtered",
)
async def write_datapoints_of_many(
    request: Request, body: Annotated[bytes, views.MANY_ASSETS_BODY], query: views.WriteQuery
) -> views.AllWritten:
    """As for one asset, with the asset beside each point: columns `{physicalAssetID: {signal: {time[], value[]}}}`,
    or a field or column `physicalAssetID`.

    An asset that is unknown or out of the caller's reach refuses the whole request.
    """
    entry, clock = request.resources[TelemetryEntry], request.resources[CachedClock]
    received = await receive(request, body, clock, many=True, unit=query.time_unit)
    keys, owners = await _authorize_assets(request, received.assets)
    if request.holder is not None:
        await request.resources[Quotas].admit(request.pool, received, owners, clock.now_us)
    stored = await entry.store(request, received, keys, clock.now_us)
    counts = _count_outcome(received, stored.values())
    assets = [
        views.AssetWritten(physical_asset_id=asset_id, written=outcome.written, overwritten=outcome.overwritten)
        for asset_id, outcome in stored.items()
        if asset_id is not None
    ]
    return views.AllWritten(**counts, assets=assets)


@operation(
    "POST",
    "/monitoring/write",
    summary="Store points in InfluxDB's line protocol",
    access=CREATE,
    status=204,
    audited=False,
    transaction="manual",
    problems=(LinesRefused, QuotaExceeded, TooManyPoints),
    asset_scope="filtered",
)
async def write_lines(
    request: Request, body: Annotated[bytes, views.LINES_BODY], query: views.LinesQuery
) -> Response[None]:
    """As Telegraf and many loggers send it, with gzip if they like. The tag `asset` of a line is a battery's id, or its
    name where that is unique among the batteries that the caller may write. Each number is a point of the signal that
    its field names; the field `value` is of the signal in the tag `signal` or, without one, in the measurement.

    A line without a time is now. Texts are skipped. Good lines are stored even where others are refused, but an asset
    out of the caller's reach refuses the whole request.
    """
    entry, clock = request.resources[TelemetryEntry], request.resources[CachedClock]
    lines = await parse_line_protocol(request, body, query.precision)
    metrics.POINTS.labels("skipped").inc(lines.texts)
    ids = await _identify_assets(request, lines)
    try:
        keys, owners = await _authorize_assets(request, set(ids.values()))
    except NotFound as error:
        raise Forbidden(error.detail) from None
    received = await keep_valid(request, lines, {text: str(one) for text, one in ids.items()}, clock)
    if request.holder is not None:
        await request.resources[Quotas].admit(request.pool, received, owners, clock.now_us)
    stored = await entry.store(request, received, keys, clock.now_us)
    return Response(None, problem=_refuse_lines(lines, received, stored.values()))


async def _authorize_assets(
    request: Request, asset_ids: Collection[UUID]
) -> tuple[dict[UUID | None, int], dict[UUID | None, UUID]]:
    """The key and the owner of each asset; a problem where the caller may not write one of them."""
    pool = request.resources[TelemetryEntry].choose_pool(request)
    keys: dict[UUID | None, int] = {}
    owners: dict[UUID | None, UUID] = {}
    for asset_id in asset_ids:
        authorized = await authorize_asset(pool, request.caller, asset_id, CREATE)
        keys[asset_id], owners[asset_id] = authorized.key, authorized.organisation_id
    return keys, owners


async def _identify_assets(request: Request, lines: ParsedLines) -> dict[str, UUID]:
    """The id of each text that names an asset; the lines of a name that several have are refused."""
    ids: dict[str, UUID] = {}
    names: list[str] = []
    for text in lines.assets:
        try:
            ids[text] = UUID(text)
        except ValueError:
            names.append(text)
    if not names:
        return ids
    found = await find_ids_by_name(request.pool, names, request.caller.organisation_id, CREATE)
    reached = request.caller.physical_asset_ids
    for name in names:
        known = [one for one in found.get(name, ()) if reached is None or one in reached]
        if not known:
            raise Forbidden(f"There is no physical asset {name!r} that you may write.")
        if len(known) > 1:
            lines.refuse_asset(name, f"{len(known)} batteries have the name {name!r}; their ids tell them apart")
        else:
            ids[name] = known[0]
    return ids


def _refuse_lines(lines: ParsedLines, received: Received, stored: Collection[Stored]) -> LinesRefused | None:
    faults = dict(lines.line_faults)
    for reason, pointers in received.refusals.pointers.items():
        faults |= {int(pointer[1:]): REASONS[reason].detail for pointer in pointers}
    points = received.refusals.total
    if not points and not lines.faulty_lines:
        return None
    errors = [FieldError(f"/{number}", faults[number]) for number in sorted(faults)[:MAX_FAULTS]]
    written, overwritten = sum(one.written for one in stored), sum(one.overwritten for one in stored)
    return LinesRefused(
        f"{lines.faulty_lines} lines cannot be read and {points} points cannot be stored; "
        f"the other {written + overwritten} points are.",
        errors,
        written=written,
        overwritten=overwritten,
        refused=points,
        refusedLines=lines.faulty_lines,
        skippedTexts=lines.texts,
    )


def _count_outcome(received: Received, stored: Collection[Stored]) -> dict[str, Any]:
    """The points received, by outcome; a problem where none of them is stored."""
    refusals = received.refusals
    counts = {
        "received": received.count,
        "written": sum(one.written for one in stored),
        "overwritten": sum(one.overwritten for one in stored),
        "refused": refusals.total,
        "refusals": [
            views.Refusal(reason=reason, detail=REASONS[reason].detail, count=count, pointers=refusals.pointers[reason])
            for reason, count in refusals.counts.items()
        ],
    }
    if received.count and refusals.total == received.count:
        errors = [
            FieldError(pointer, REASONS[reason].detail)
            for reason, pointers in refusals.pointers.items()
            for pointer in pointers
        ]
        raise NothingWritten(f"None of the {received.count} points can be stored.", errors, **counts)
    return counts
