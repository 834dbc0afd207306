"""Reads of an organisation: how long windows may be, how many large ones run, and how fast answers are taken."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from tests.assets import register_asset
from tests.conftest import migrated_database, running
from tests.people import People

from gridloom.app import ROUTE_MODULES
from gridloom.kernel.shares import ShareLimits
from gridloom.platform.http.operation import operations_of
from gridloom.platform.http.windows import has_window

YEARS = {"start": "2030-01-01T00:00:00Z", "end": "2032-12-30T00:00:00Z"}


class TestEveryWindow:
    async def test_is_1098_days_long_at_most_and_3660_by_the_day(self, operator: Any, new_organisation: Any) -> None:
        owner = await new_organisation()
        asset = await register_asset(owner)
        windowed = [
            one
            for one in operations_of(*ROUTE_MODULES)
            if one.method == "GET" and has_window(one.query) and not one.path.endswith("/benchmark")
        ]
        assert len(windowed) > 20
        for one in windowed:
            path = one.path
            for parameter in one.path_parameters:
                path = path.replace(f"{{{parameter.name}}}", asset.id)
            daily = "resolution" in one.query.__struct_fields__  # type: ignore[union-attr]
            for end, resolution, is_refused in (
                ("2033-01-03T00:00:00Z", "hourly", False),
                ("2033-01-03T00:00:01Z", "hourly", True),
                ("2040-01-09T00:00:00Z", "daily", not daily),
                ("2040-01-09T00:00:01Z", "daily", True),
            ):
                query = {"start": "2030-01-01T00:00:00Z", "end": end} | ({"resolution": resolution} if daily else {})
                answer = await operator.get(path, params=query)
                refused = answer.status_code == 422 and answer.json()["type"] == "/docs/problems/window-too-long"
                assert refused == is_refused, (one.operation_id, query, answer.text[:200])
                if refused:
                    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["query:end"]

    async def test_is_366_days_long_at_most_where_each_day_is_solved(
        self, operator: Any, new_organisation: Any
    ) -> None:
        owner = await new_organisation()
        asset = await register_asset(owner)
        url = f"/revenue-reporting/physical-assets/{asset.id}/benchmark"
        answer = await operator.get(url, params={"start": "2030-01-01T00:00:00Z", "end": "2031-01-02T00:00:01Z"})
        assert (answer.status_code, answer.json()["type"]) == (422, "/docs/problems/window-too-long")
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["query:end"]


class Reader:
    """Asks a service for something, and takes of the answer only what it is told to take."""

    def __init__(self, service: Any, token: str, path: str, query: dict[str, str]) -> None:
        self.messages: list[dict[str, Any]] = []
        self.may_take = asyncio.Event()
        self.has_left = asyncio.Event()
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": "&".join(f"{name}={value}" for name, value in query.items()).encode(),
            "headers": [(b"authorization", f"Bearer {token}".encode())],
            "client": ("127.0.0.1", 40_000),
        }
        self.task = asyncio.ensure_future(service(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self.has_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        if message["type"] == "http.response.body":
            await self.may_take.wait()

    @property
    def status(self) -> int | None:
        return self.messages[0]["status"] if self.messages else None

    @property
    def handed_over(self) -> int:
        return sum(len(message.get("body", b"")) for message in self.messages)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


async def wait_until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


class TestReadsThatCostMuch:
    @pytest.fixture
    async def scene(self, settings: Any) -> Any:
        """A service on which an organisation has one large read under way and one more waiting."""
        limits = ShareLimits(reads_running=1, reads_waiting=1, slow_reader_s=1, unread_bytes=2_000_000)
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(migrated_database())
            service = await stack.enter_async_context(running(replace(settings, database_url=url, shares=limits)))
            people = await stack.enter_async_context(People(service))
            yield service, await people.new_organisation(), await people.new_organisation()

    def read(self, service: Any, organisation: Any, asset: Any, **query: str) -> Reader:
        token = next(iter(organisation.people.values())).tokens.access
        return Reader(service, token, asset.path("/commitments"), YEARS | query)

    async def test_have_places_by_organisation_and_small_ones_need_none(self, scene: Any) -> None:
        service, ours, theirs = scene
        asset, other = await register_asset(ours), await register_asset(theirs)
        first = self.read(service, ours, asset)
        await wait_until(lambda: first.status == 200 and first.handed_over)
        assert first.handed_over < 600_000, "of sixty megabytes, what the connection takes"
        second = self.read(service, ours, asset)
        await asyncio.sleep(0.1)
        third = self.read(service, ours, asset)
        third.may_take.set()
        await third.task
        refused = json.loads(third.body)
        assert (third.status, refused["type"], refused["share"]) == (429, "/docs/problems/share-exceeded", "reads")
        usage = (await ours.viewer.get(f"/organisations/{ours.id}/usage")).json()["shares"]
        [seen] = [share for share in usage if share["share"] == "reads"]
        assert [seen[name] for name in ("used", "limit", "waiting", "maxWaiting")] == [1, 1, 1, 1]
        [unread] = [share for share in usage if share["share"] == "unread-answers"]
        assert 0 < unread["used"] < 1_000_000
        assert (await ours.viewer.get(asset.path("/commitments"))).status_code == 200, "three days are a small read"
        elsewhere = self.read(service, theirs, other)
        await wait_until(lambda: elsewhere.status == 200)
        assert second.status is None
        for reader in (first, second, elsewhere):
            reader.may_take.set()
        await asyncio.gather(first.task, second.task, elsewhere.task)
        assert first.body == second.body
        assert len(json.loads(first.body)["commitments"]) == 1094 * 96

    async def test_end_for_a_slow_reader_only_when_others_wait(self, scene: Any) -> None:
        service, ours, _ = scene
        asset = await register_asset(ours)
        slow = self.read(service, ours, asset)
        await wait_until(lambda: slow.status == 200)
        await asyncio.sleep(3)
        assert not slow.task.done(), "its place and its memory are wanted by no other"
        began_s = time.monotonic()
        waiting = self.read(service, ours, asset)
        waiting.may_take.set()
        await waiting.task
        assert time.monotonic() - began_s < 15
        assert waiting.status == 200
        assert len(json.loads(waiting.body)["commitments"]) == 1094 * 96
        await slow.task
        assert slow.messages[-1].get("more_body") is not False, "its end never came: it was broken off"
