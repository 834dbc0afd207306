"""10,000 changes under 20 rounds of `kill -9`: one event each, in order, once to each stream, to each webhook.

The audit log is the witness: a change and its entry there commit together, so there are as many of one as of the other.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import psutil

from bench.events import change, new_asset
from bench.harness import Client, Harness
from bench.sse_clients import Follower, RequestRejected

CHANGES, ROUNDS, WRITERS, STREAMS = 10_000, 20, 8, 4
QUICK_CHANGES, QUICK_ROUNDS = 200, 2
EXPECTED_ERRORS = ("worker.exited", "job.crashed")
"""What a log says of processes that were killed."""
PATIENCE_S = 120.0
"""Calls whose worker died are due again when their lease ends, a minute later."""


@dataclass
class Told:
    """What one stream was told over all its reconnects."""

    places: list[int] = field(default_factory=list)
    reconnects: int = 0


class Receiver:
    """Answers every call with 204 and keeps the events' ids."""

    def __init__(self) -> None:
        self.calls = 0
        self.ids: set[str] = set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.split("content-length: ", 1)[1].split("\r\n", 1)[0])
            event = json.loads(await reader.readexactly(length))
            self.calls += 1
            self.ids.add(event["id"])
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()


def workers(harness: Harness) -> list[psutil.Process]:
    children = psutil.Process(harness.product_pid).children()
    return [child for child in children if child.name() != "postgres"]


async def crash(harness: Harness) -> dict[str, Any]:
    changes, rounds = (QUICK_CHANGES, QUICK_ROUNDS) if harness.options.quick else (CHANGES, ROUNDS)
    organisation = harness.new_organisation()
    assets = [new_asset(harness, organisation) for _ in range(WRITERS)]
    key = organisation.admin.post(
        "/auth/api-keys", {"name": "bench", "permissions": ["Read:schedules", "Update:schedules"]}
    )
    client = Client(harness.address, key["secret"])
    receiver = Receiver()
    server = await asyncio.start_server(receiver.handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    organisation.admin.post("/webhooks", {"url": f"http://127.0.0.1:{port}/", "types": ["schedule.updated"]})
    done = 0
    streams = [Told() for _ in range(STREAMS)]
    stopping = asyncio.Event()

    async def write(writer: int) -> None:
        nonlocal done
        number = 0
        while done < changes:
            number += 1
            with suppress(OSError, RuntimeError, http.client.HTTPException):
                await asyncio.to_thread(change, client, assets[writer], number)
                done += 1

    async def follow(told: Told) -> None:
        follower = Follower(
            harness.address, client.token or "", lambda place, _data, _came: told.places.append(place), place=0
        )
        while not stopping.is_set():
            with suppress(OSError, RequestRejected):
                await follower.follow()
            told.reconnects += 1
            await asyncio.sleep(0.1)

    async def kill() -> None:
        dice = random.Random(9)
        for round_number in range(rounds):
            while done < (round_number + 1) * changes / (rounds + 2):
                await asyncio.sleep(0.02)
            living = workers(harness)
            if living:
                dice.choice(living).kill()

    began = time.perf_counter()
    following = [asyncio.create_task(follow(told)) for told in streams]
    await asyncio.gather(kill(), *(write(number) for number in range(WRITERS)))
    took_s = time.perf_counter() - began
    database = await asyncpg.connect(harness.database_url)
    entries = await database.fetchval(
        """
        select count(*) from audit_log
        where organisation_id = $1::text::uuid and action = 'putPhysicalAssetSchedule' and status = 200
        """,
        organisation.id,
    )
    async with asyncio.timeout(30):
        while await database.fetchval("select exists (select from event_outbox)"):
            await asyncio.sleep(0.1)
    rows = await database.fetch(
        "select sequence, id, type from event where organisation_id = $1::text::uuid order by sequence",
        organisation.id,
    )
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1)), "the order has a gap"
    ids = {str(row["id"]) for row in rows if row["type"] == "schedule.updated"}
    last = rows[-1]["sequence"]
    before = len(receiver.ids)
    await wait_for_the_rest(
        lambda: (len(ids - receiver.ids), sum(last - (told.places[-1] if told.places else 0) for told in streams))
    )
    waited_s = time.perf_counter() - began - took_s
    stopping.set()
    for task in following:
        task.cancel()
    server.close()
    await database.close()
    wrong = sum(told.places != sorted(set(told.places)) or len(told.places) != len(ids) for told in streams)
    return {
        "changes": entries,
        "events": len(ids),
        "acknowledged": done,
        "kills": rounds,
        "reconnects": sum(told.reconnects for told in streams),
        "streams_with_gap_or_double": wrong,
        "webhook_calls": receiver.calls,
        "webhook_missing": len(ids - receiver.ids),
        "webhook_called_afterwards": len(receiver.ids) - before,
        "seconds": round(took_s, 1),
        "seconds_afterwards": round(waited_s, 1),
    }


async def wait_for_the_rest(count_missing: Callable[[], tuple[int, ...]]) -> None:
    """Until nothing is missing any more, or nothing more comes: what is missing then is lost."""
    missing, since = count_missing(), time.monotonic()
    while any(missing) and time.monotonic() - since < PATIENCE_S:
        await asyncio.sleep(0.2)
        if (now := count_missing()) != missing:
            missing, since = now, time.monotonic()


def run(harness: Harness) -> None:
    figures = asyncio.run(crash(harness))
    met = (
        figures["changes"] == figures["events"] >= figures["acknowledged"]
        and figures["streams_with_gap_or_double"] == 0
        and figures["webhook_missing"] == 0
    )
    harness.report("changes under kill -9", figures, target="every change one event, in order, everywhere", met=met)
