"""Bodies of points, JSON in columns or rows, NDJSON, CSV or Arrow, as columns; no step per point on the usual path.

What makes a body unreadable refuses the request (400). What makes a single point unusable refuses that point.
A body is parsed in one of three ways, by its size:

| Way | Bodies |
|---|---|
| on the event loop | up to 32 KiB (`INLINE_MAX_BYTES`), except Arrow; fast path up to 320 KiB (`FAST_PATH_MAX_BYTES`) |
| in a thread | up to 1 MiB (`SUBPROCESS_MIN_BYTES`), and Arrow of instants and numbers alone |
| in a process of its own | above, and from 32 KiB on what costs more than its size says |

That is Arrow that may unpack to more than its size (`tables.is_bounded`), lines of several shapes or many series, and
JSON in columns of many series that were not sampled together.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.monitoring import metrics
from gridloom.monitoring.ingest import json_columns, json_rows, tables
from gridloom.monitoring.ingest.columns import TooManyPoints, check_count, drop_invalid
from gridloom.monitoring.ingest.line_protocol import MAX_LINE_BYTES, ParsedLines, parse_lines, parse_uniform_lines
from gridloom.monitoring.model import (
    LATEST_US,
    MAX_POINTS,
    SECOND_US,
    TOLERATED_AHEAD_US,
    Reason,
    Received,
    TimeUnit,
    microseconds,
)
from gridloom.monitoring.offload import HEAVY_POINTS, HEAVY_SIGNALS, off_loop
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Pool
from gridloom.platform.http import Request
from gridloom.platform.http.decode.json_decoder import holds_long_run, reject_long_numbers
from gridloom.platform.http.long_bodies.decoder_process import INLINE_MAX_BYTES, SUBPROCESS_MIN_BYTES, run_in_subprocess
from gridloom.platform.http.long_bodies.slices import count_in_slices, reject_long_lines
from gridloom.platform.http.responses import ARROW, CSV, JSON, NDJSON

FAST_PATH_MAX_BYTES: Final = 320 * 1024
"""Where parsing takes two milliseconds, a thread would cost half as much again, because it takes turns with the event
loop at each step of Arrow and numpy."""
MAX_FAST_PATH_BRACES: Final = 65
"""Of JSON in columns: each series has some work of its own."""
MAX_FAST_PATH_COMMAS: Final = 40_000
MAX_THREAD_BRACES: Final = 1025
MAX_THREAD_TIMES: Final = 64
"""Different arrays of times in JSON in columns: each is read by itself, so thousands of them would hold the interpreter
for as long as much longer bodies."""
CLOCK_CACHE_TTL_S: Final = 5.0

_ARRAY: Final = re.compile(rb"\s*\[")


def parse(body: bytes, media_type: str, *, many: bool, latest_us: int, unit: TimeUnit | None = None) -> Received:
    """`many` bodies name the asset of each point; no point may lie after `latest_us`."""
    if media_type in (JSON, NDJSON):
        _reject_implausible(body, is_rows=media_type == NDJSON or _ARRAY.match(body) is not None)
        reject_long_numbers(body)
    if media_type == CSV:
        columns = tables.from_csv(body, many=many, unit=unit)
    elif media_type == ARROW:
        columns = tables.from_arrow(body, many=many, unit=unit)
    elif media_type == NDJSON:
        columns = json_rows.from_rows(body, many=many, unit=unit, lines=True)
    elif _ARRAY.match(body):
        columns = json_rows.from_rows(body, many=many, unit=unit, lines=False)
    else:
        columns = json_columns.from_columns(body, many=many, unit=unit)
    check_count(len(columns))
    return drop_invalid(columns, latest_us)


def parse_fast(
    body: bytes, media_type: str, *, many: bool, latest_us: int, unit: TimeUnit | None = None
) -> Received | None:
    """The result of `parse` for a small body in a usual form and without errors; None for any other."""
    if len(body) > FAST_PATH_MAX_BYTES:
        return None
    if media_type == ARROW:
        columns = tables.from_arrow_fast(body, many=many, unit=unit)
    elif media_type == JSON and _holds_few_series(body) and not holds_long_run(body):
        columns = json_columns.from_columns_fast(body, many=many, unit=unit)
    else:
        return None
    return None if columns is None else drop_invalid(columns, latest_us)


def _holds_few_series(body: bytes) -> bool:
    signs = np.frombuffer(body, np.uint8)  # which counts them in a third of the time that bytes take
    braces, commas = (np.count_nonzero(signs == ord(sign)) for sign in "{,")
    return bool(braces <= MAX_FAST_PATH_BRACES and commas <= MAX_FAST_PATH_COMMAS)


def _holds_many_series(body: bytes, media_type: str) -> bool:
    return media_type == JSON and body.count(b"{") > MAX_FAST_PATH_BRACES and _ARRAY.match(body) is None


def _reject_implausible(body: bytes, *, is_rows: bool) -> None:
    """Unpacked, `{}` takes thirty times the room that it takes in a body: what holds far more things than the points
    allowed could need is not unpacked at all."""
    # A row opens one brace; what is read a second time to name its faults is not read at all beyond that.
    braces = MAX_POINTS if is_rows else 2 * MAX_POINTS
    for sign, most in ((b"{", braces), (b",", 6 * MAX_POINTS), (b"\n", 8 * MAX_POINTS)):
        if len(body) > most and count_in_slices(body, sign) > most:
            raise TooManyPoints(f"The request holds far more than {MAX_POINTS:,} points.")


@dataclass(slots=True)
class CachedClock:
    """The platform's clock, known roughly: whether a point lies a day ahead is no matter of seconds."""

    now_us: int = 0
    read_at: float = float("-inf")

    async def about_now(self, pool: Pool) -> int:
        age_s = time.monotonic() - self.read_at
        if age_s > CLOCK_CACHE_TTL_S:
            return await self.exactly_now(pool)
        return self.now_us + int(age_s * SECOND_US)

    async def exactly_now(self, pool: Pool) -> int:
        self.now_us = microseconds(await platform_now(pool))
        self.read_at = time.monotonic()
        return self.now_us


async def receive(
    request: Request, body: bytes, clock: CachedClock, *, many: bool, unit: TimeUnit | None = None
) -> Received:
    """The points of a request's body."""
    metrics.BODY_BYTES.labels(request.content_type).inc(len(body))
    received = await _parse_by_size(request, body, many, unit, await clock.about_now(request.pool))
    if Reason.TIME_OUT_OF_RANGE in received.refusals.counts:
        # The sandbox's clock may just have moved.
        known_us = clock.now_us
        if await clock.exactly_now(request.pool) - known_us > 60 * SECOND_US:
            received = await _parse_by_size(request, body, many, unit, clock.now_us)
    return received


async def parse_line_protocol(request: Request, body: bytes, unit: TimeUnit) -> ParsedLines:
    metrics.BODY_BYTES.labels("line protocol").inc(len(body))
    if len(body) <= INLINE_MAX_BYTES:
        return parse_lines(body, unit)
    reject_long_lines(body, MAX_LINE_BYTES)
    if len(body) <= SUBPROCESS_MIN_BYTES:
        found = await off_loop(True, parse_uniform_lines, body, unit, HEAVY_SIGNALS)
        if found is not None:
            return found
    return await run_in_subprocess(request.holder, parse_lines, body, unit)


async def keep_valid(request: Request, lines: ParsedLines, ids: Mapping[str, str], clock: CachedClock) -> Received:
    """The good points of the lines, by the id of the asset that they name; a line without a time is now."""
    now_us = await (clock.exactly_now if lines.lacks_times else clock.about_now)(request.pool)
    received = await _select_valid(lines, ids, now_us)
    if Reason.TIME_OUT_OF_RANGE in received.refusals.counts:
        # The sandbox's clock may just have moved.
        known_us = now_us
        if await clock.exactly_now(request.pool) - known_us > 60 * SECOND_US:
            received = await _select_valid(lines, ids, clock.now_us)
    return received


async def _select_valid(lines: ParsedLines, ids: Mapping[str, str], now_us: int) -> Received:
    latest_us = min(now_us + TOLERATED_AHEAD_US, LATEST_US - 1)

    def select() -> Received:
        return drop_invalid(lines.name_assets(ids, now_us), latest_us)

    return await off_loop(len(lines.codes) > HEAVY_POINTS, select)


async def _parse_by_size(request: Request, body: bytes, many: bool, unit: TimeUnit | None, now_us: int) -> Received:
    media_type, latest_us = request.content_type, min(now_us + TOLERATED_AHEAD_US, LATEST_US - 1)
    if len(body) <= INLINE_MAX_BYTES and media_type != ARROW and not _holds_many_series(body, media_type):
        return parse(body, media_type, many=many, latest_us=latest_us, unit=unit)
    found = parse_fast(body, media_type, many=many, latest_us=latest_us, unit=unit)
    if found is None and (len(body) <= SUBPROCESS_MIN_BYTES or media_type == ARROW):
        found = await off_loop(True, _parse_unless_long, body, media_type, many=many, latest_us=latest_us, unit=unit)
    if found is not None:
        return found
    return await run_in_subprocess(request.holder, parse, body, media_type, many=many, latest_us=latest_us, unit=unit)


def _parse_unless_long(
    body: bytes, media_type: str, *, many: bool, latest_us: int, unit: TimeUnit | None = None
) -> Received | None:
    """None for Arrow that may unpack to more than its size, or is long and has more to it than instants and numbers,
    and for JSON in columns of many series that were not sampled together."""
    if _holds_many_series(body, media_type):
        if body.count(b"{") > MAX_THREAD_BRACES or holds_long_run(body):
            return None
        columns = json_columns.from_columns_fast(body, many=many, unit=unit, max_times=MAX_THREAD_TIMES)
        return None if columns is None else drop_invalid(columns, latest_us)
    if media_type == ARROW and not tables.is_bounded(body, SUBPROCESS_MIN_BYTES):
        return None
    return parse(body, media_type, many=many, latest_us=latest_us, unit=unit)
