"""Points followed live, over server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.assets import register_asset
from tests.monitoring.calls import DAY, write
from tests.stand_ins import replace_for

from gridloom.market_calendar import market_date
from gridloom.monitoring.query import stream

Event = tuple[str, str, Any]
"""Its type, its id and its data."""
END: Event = ("end", "", None)
"""No event: the stream is over."""


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
        if not message.get("more_body", False):
            events.put_nowait(END)
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

    async def test_begins_anew_for_a_place_that_is_still_to_come(self, owner: Any, asset: str, app: Any) -> None:
        """One of an earlier life: a sandbox that was reset counts from the beginning again."""
        token, columns = owner.viewer.headers["Authorization"], {"frequency": {"time": [DAY[0]], "value": [50.0]}}
        await write(owner, asset, columns)
        async with following(app, token, asset, last_event_id=f"2-{market_date(20541)}") as events:
            kind, place, data = await upcoming(events)
            assert (kind, data) == ("latest", {"frequency": {"time": DAY[0], "value": 50.0}})
            await write(owner, asset, columns)
            assert (await upcoming(events))[::2] == ("datapoints", columns)
        async with following(app, token, asset, last_event_id=place) as events:
            assert (await upcoming(events))[::2] == ("datapoints", columns), "and its place is one to go on from"

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

    async def test_ends_with_the_right_to_read(
        self, owner: Any, asset: str, app: Any, new_organisation: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stream, "READ_CACHE_TTL_S", -1.0)
        guest, columns = await new_organisation(), {"x": {"time": [DAY[0]], "value": [1.0]}}
        grant = f"/physical-assets/{asset}/grants/{guest.id}"
        assert (await owner.admin.put(grant, json={"permissions": ["Read:monitoring"]})).status_code == 200
        async with following(app, guest.viewer.headers["Authorization"], asset) as events:
            await upcoming(events)
            await write(owner, asset, columns)
            assert (await upcoming(events))[::2] == ("datapoints", columns)
            assert (await owner.admin.delete(grant)).status_code == 204
            await write(owner, asset, columns)
            async with asyncio.timeout(30):
                assert await events.get() == END
        async with following(app, owner.viewer.headers["Authorization"], asset) as events:
            await upcoming(events)
            assert (await owner.viewer.post("/auth/logout")).status_code == 204
            await write(owner, asset, columns)
            async with asyncio.timeout(30):
                assert await events.get() == END, "and with the session"

    async def test_ends_with_the_right_to_read_whoever_else_follows_and_whatever_else_is_followed(
        self, owner: Any, asset: str, app: Any, new_organisation: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What streams share is not told to one by the rights of another, or by those to another battery."""
        seconds = [0.0]
        replace_for(monkeypatch, stream, "time", monotonic=lambda: seconds[0])
        other = (await register_asset(owner)).id
        guest, columns = await new_organisation(), {"x": {"time": [DAY[0]], "value": [1.0]}}
        for one in (asset, other):
            granted = await owner.admin.put(
                f"/physical-assets/{one}/grants/{guest.id}", json={"permissions": ["Read:monitoring"]}
            )
            assert granted.status_code == 200
        own, foreign = (one.viewer.headers["Authorization"] for one in (owner, guest))
        async with (
            following(app, own, asset) as to_owner,
            following(app, foreign, asset) as to_guest,
            following(app, foreign, other) as to_guest_of_other,
            asyncio.timeout(60),
        ):
            for events in (to_owner, to_guest, to_guest_of_other):
                await events.get()
            await write(owner, asset, columns)
            assert [(await events.get())[2] for events in (to_owner, to_guest)] == [columns] * 2
            assert (await owner.admin.delete(f"/physical-assets/{asset}/grants/{guest.id}")).status_code == 204
            seconds[0] = 10.0  # what was read before is too old to be shared
            await write(owner, other, columns)
            assert (await to_guest_of_other.get())[2] == columns
            await write(owner, asset, columns)
            assert [await to_guest.get(), (await to_owner.get())[2]] == [END, columns]

    async def test_shares_what_was_read_with_no_stream_that_is_elsewhere(
        self, owner: Any, asset: str, app: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        replace_for(monkeypatch, stream, "time", monotonic=lambda: 0.0)
        token, other = owner.viewer.headers["Authorization"], (await register_asset(owner)).id
        stored = [{"x": {"time": [f"2026-03-29T0{hour}:00:00Z"], "value": [hour / 2]}} for hour in (1, 2, 3)]
        for columns in stored:
            await write(owner, asset, columns)
            await write(owner, other, columns)
        elsewhere = {"x": {"time": ["2026-03-29T04:00:00Z"], "value": [9.0]}}
        await write(owner, other, elsewhere)
        first, second = (f"{sequence}-{market_date(20541)}" for sequence in (1, 2))
        async with (
            following(app, token, asset, last_event_id=first) as all_missed,
            following(app, token, asset, last_event_id=second) as last_missed,
            following(app, token, other, last_event_id=second) as of_other,
            asyncio.timeout(60),
        ):
            assert [(await all_missed.get())[2] for _ in range(2)] == stored[1:]
            assert (await last_missed.get())[2] == stored[2]
            assert [(await of_other.get())[2] for _ in range(2)] == [stored[2], elsewhere]

    async def test_refuses_a_place_that_is_none(self, owner: Any, asset: str, app: Any) -> None:
        token = owner.viewer.headers["Authorization"]
        async with following(app, token, asset, last_event_id="seven", status=400):
            pass
