"""A read of one organisation costs what it answers, and keeps no other one waiting."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pytest
from tests.assets import register_asset
from tests.monitoring.calls import ARROW, minutes, stream_of

from gridloom.monitoring.ingest import ingest
from gridloom.monitoring.offload import MAX_CONCURRENT_READS, read_semaphore_of
from gridloom.platform.identity.permissions import Role

START, END = "2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"


async def with_signals(owner, count, points=1):
    asset = await register_asset(owner)
    rows = [
        {"signal": f"s{number}", "time": f"2026-01-05T10:00:0{point}Z", "value": float(number)}
        for number in range(count)
        for point in range(points)
    ]
    written = await owner.admin.post(f"/monitoring/{asset.id}/datapoints", json=rows)
    assert written.status_code == 200, written.text
    return asset


class TestAReadOverThousandsOfSignals:
    async def test_in_buckets_or_sums_is_for_so_many_at_a_time(self, new_organisation):
        owner = await new_organisation()
        asset = await with_signals(owner, 300)
        window = {"start": START, "end": END}
        names = ",".join(f"s{number}" for number in range(256))
        for path, more in (
            ("datapoints", {"resolution": "daily"}),
            ("datapoints", {"resolution": "hourly"}),
            ("datapoints/sum/detailed", {}),
        ):
            refused = await owner.viewer.get(f"/monitoring/{asset.id}/{path}", params={**window, **more})
            assert refused.status_code == 400
            assert refused.json()["errors"][0]["pointer"] == "query:datapoints"
            named = {**window, **more, "datapoints": names}
            assert (await owner.viewer.get(f"/monitoring/{asset.id}/{path}", params=named)).status_code == 200


READS: tuple[tuple[str, dict[str, str]], ...] = (
    ("datapoints", {"resolution": "raw"}),
    ("datapoints", {"resolution": "hourly"}),
    ("datapoints", {"resolution": "daily"}),
    ("datapoints/sum/detailed", {}),
)


@asynccontextmanager
async def turns_taken(organisation):
    """As if the organisation's reads unpacked points, as many as may do so at once."""
    turn = read_semaphore_of(organisation.id)
    for _ in range(MAX_CONCURRENT_READS):
        await turn.acquire()
    try:
        yield turn
    finally:
        for _ in range(MAX_CONCURRENT_READS):
            turn.release()


class TestTurns:
    @pytest.mark.parametrize(("path", "more"), READS)
    async def test_are_not_waited_for_by_callers_who_have_left(self, app, new_organisation, path, more):
        owner = await new_organisation()
        asset = await with_signals(owner, 3)
        messages: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        answer = []

        async def send(message):
            answer.append(message)

        token = owner.people[Role.VIEWER].tokens.access
        scope = {
            "type": "http",
            "method": "GET",
            "path": f"/monitoring/{asset.id}/{path}",
            "query_string": urlencode({"start": START, "end": END, **more}).encode(),
            "headers": [(b"authorization", f"Bearer {token}".encode())],
            "client": ("10.0.0.1", 1),
        }
        async with turns_taken(owner) as turn:
            asking = asyncio.create_task(app(scope, messages.get, send))
            async with asyncio.timeout(120):
                while not turn._waiters:
                    await asyncio.sleep(0.01)
                await messages.put({"type": "http.disconnect"})
                await asking
            assert answer == [], "no client is left to answer"
        async with asyncio.timeout(120):
            assert (await owner.viewer.get(f"/monitoring/{asset.id}/datapoints")).status_code == 200


class TestABodyOfThousandsOfSignals:
    STEPS = ("_number_names", "_arrange_allowed", "_find_late", "_add_overlap", "_make_segments")
    """All that takes a step for each point or signal between a body and the database."""

    async def post_watched(self, owner, asset, monkeypatch, signals, rows):
        """Which steps were taken where: beside the event loop, or on it."""
        steps: dict[str, set[bool]] = {}
        for name in self.STEPS:
            monkeypatch.setattr(ingest, name, watched(name, getattr(ingest, name), steps))
        table = pa.table({"time": minutes(rows), **{f"s{number}": np.ones(rows) for number in range(signals)}})
        for _ in range(2):  # the second time all of it is there already
            answer = await owner.admin.post(
                f"/monitoring/{asset.id}/datapoints", content=stream_of(table), headers={"Content-Type": ARROW}
            )
            assert answer.status_code == 200, answer.text
        assert answer.json()["overwritten"] == signals * rows
        return steps

    async def test_is_worked_on_beside_the_event_loop(self, new_organisation, monkeypatch):
        owner = await new_organisation()
        asset = await register_asset(owner)
        steps = await self.post_watched(owner, asset, monkeypatch, signals=1000, rows=2)
        assert steps == {name: {False} for name in self.STEPS}

    async def test_differs_from_a_small_one_which_is_done_at_once(self, new_organisation, monkeypatch):
        owner = await new_organisation()
        asset = await register_asset(owner)
        steps = await self.post_watched(owner, asset, monkeypatch, signals=3, rows=2)
        assert steps == {name: {True} for name in self.STEPS}


def watched(name, step, steps):
    def wrapper(*arguments):
        steps.setdefault(name, set()).add(threading.current_thread() is threading.main_thread())
        return step(*arguments)

    return wrapper
