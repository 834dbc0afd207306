"""Points followed live, over server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.monitoring.calls import DAY, write

from gridloom.market_calendar import market_date

Event = tuple[str, str, Any]
"""Its id, its type and its data."""


@asynccontextmanager
async def following(app: Any, token: str, asset: str, **options: Any) -> AsyncIterator[asyncio.Queue[Event]]:
    """The stream's events, read from the service itself: the test transport would wait for its end."""
    events: asyncio.Queue[Event] = asyncio.Queue()
    gone = asyncio.Event()
    status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            status.set_result(message["status"])
            return
        for frame in message.get("body", b"").decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in frame.splitlines() if ": " in line)
            if "event" in fields:
                events.put_nowait((fields["event"], fields["id"], json.loads(fields["data"])))

    headers = [(b"authorization", token.encode())]
    if "last_event_id" in options:
        headers.append((b"last-event-id", options["last_event_id"].encode()))
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/monitoring/{asset}/stream",
        "query_string": options.get("query", b""),
        "headers": headers,
        "client": ("127.0.0.1", 1),
    }
    task = asyncio.create_task(app(scope, receive, send))
    assert await asyncio.wait_for(status, 120) == options.get("status", 200)
    try:
        yield events
    finally:
        gone.set()
        await asyncio.wait_for(task, 120)


async def upcoming(events: asyncio.Queue[Event]) -> Event:
    return await asyncio.wait_for(events.get(), 120)


class TestAStream:
    async def test_begins_with_the_latest_and_goes_on_with_what_is_stored(
        self, owner: Any, asset: str, app: Any
    ) -> None:
        token = owner.viewer.headers["Authorization"]
        await write(owner, asset, {"frequency": {"time": [DAY[0]], "value": [50]}})
        async with following(app, token, asset) as events:
            assert (await upcoming(events))[::2] == ("latest", {"frequency": {"time": DAY[0], "value": 50.0}})
            columns = {
                "frequency": {"time": ["2026-03-29T00:00:00Z"], "value": [49.9]},
                "x": {"time": [DAY[0]], "value": [1.0]},
            }
            await write(owner, asset, columns)
            assert (await upcoming(events))[::2] == ("datapoints", columns)

    async def test_goes_on_where_it_broke_off(self, owner: Any, asset: str, app: Any) -> None:
        token = owner.viewer.headers["Authorization"]
        async with following(app, token, asset) as events:
            await upcoming(events)
            await write(owner, asset, {"frequency": {"time": [DAY[0]], "value": [50]}})
            _, place, _ = await upcoming(events)
        missed = {"frequency": {"time": [DAY[0], "2026-03-30T00:00:00Z"], "value": [51.0, 52.0]}}
        await write(owner, asset, missed)
        async with following(app, token, asset, last_event_id=place) as events:
            first, second = await upcoming(events), await upcoming(events)
            assert first[2] == {"frequency": {"time": [DAY[0]], "value": [51.0]}}
            assert second[2] == {"frequency": {"time": ["2026-03-30T00:00:00Z"], "value": [52.0]}}
        async with following(app, token, asset, last_event_id=first[1]) as events:
            assert await upcoming(events) == second

    async def test_says_when_something_may_have_been_missed(self, owner: Any, asset: str, app: Any) -> None:
        token = owner.viewer.headers["Authorization"]
        await write(owner, asset, {"frequency": {"time": [DAY[0]], "value": [50]}})
        key = await app.pool.fetchval("select key from asset where id = $1", asset)
        for value in (51, 52):
            await write(owner, asset, {"frequency": {"time": [DAY[0]], "value": [value]}})
        await app.pool.execute("delete from telemetry_segment where asset_key = $1 and sequence = 2", key)
        async with following(app, token, asset, last_event_id=f"1-{market_date(20541)}") as events:
            assert (await upcoming(events))[0] == "gap"
            assert (await upcoming(events))[2] == {"frequency": {"time": [DAY[0]], "value": [52.0]}}

    async def test_tells_only_what_was_asked_for(self, owner: Any, asset: str, app: Any) -> None:
        token = owner.viewer.headers["Authorization"]
        both = {name: {"time": [DAY[0]], "value": [1.0]} for name in ("x", "frequency")}
        await write(owner, asset, both)
        async with following(app, token, asset, query=b"datapoints=frequency") as events:
            assert (await upcoming(events))[::2] == ("latest", {"frequency": {"time": DAY[0], "value": 1.0}})
            await write(owner, asset, {"x": {"time": [DAY[0]], "value": [1]}})
            await write(
                owner, asset, {"x": {"time": [DAY[0]], "value": [1]}, "frequency": {"time": [DAY[0]], "value": [2.0]}}
            )
            assert (await upcoming(events))[2] == {"frequency": {"time": [DAY[0]], "value": [2.0]}}

    async def test_refuses_a_place_that_is_none(self, owner: Any, asset: str, app: Any) -> None:
        token = owner.viewer.headers["Authorization"]
        async with following(app, token, asset, last_event_id="seven", status=400):
            pass
