"""Writers, sequencers and dispatchers that are killed at any moment: no event is lost, made up or out of order."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from dataclasses import replace
from uuid import UUID

import pytest
from tests.conftest import migrated_database, running
from tests.people import People
from tests.platform.events.happening import number_in
from tests.platform.events.sse import Reader
from tests.platform.webhooks.conftest import receiving

from gridloom.platform.http.application import Application
from gridloom.platform.webhooks import delivery_store
from gridloom.platform.webhooks import store as webhook_store

PROCESSES, CHANGES, KILLS = 3, 300, 5


def start(dsn: str, organisation_id: UUID) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.platform.events.writer_process", dsn, str(organisation_id), str(CHANGES)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.slow
class TestKilledProcesses:
    async def test_leave_one_event_per_change_in_order_for_streams_and_webhooks(self, settings) -> None:
        async with migrated_database() as dsn, running(replace(settings, database_url=dsn)) as app:
            await self.write_kill_and_check(app, dsn)

    async def write_kill_and_check(self, app: Application, dsn: str) -> None:
        await app.pool.execute("create table counter (n int not null)")
        await app.pool.execute("insert into counter values (0)")
        dice = random.Random(3)
        told: list[int] = []

        async def follow(token: str) -> None:
            place = 0
            while len(told) < CHANGES:
                async with Reader(app, token, last_event_id=place) as reader:
                    for _ in range(min(dice.randint(1, 60), CHANGES - len(told))):
                        one = await reader.next(60)
                        assert one is not None
                        told.append(number_in(one.data))
                        assert one.id is not None
                        place = one.id

        async with People(app) as people, receiving() as receiver:
            ours = await people.new_organisation()
            made = await ours.admin.post("/webhooks", json={"url": receiver.url, "types": []})
            assert made.status_code == 201
            token = next(iter(ours.people.values())).tokens.access
            following = asyncio.create_task(follow(token))
            processes = [start(dsn, ours.id) for _ in range(PROCESSES)]
            try:
                for kill in range(KILLS):
                    while await app.pool.fetchval("select n from counter") < (kill + 1) * CHANGES / (KILLS + 2):
                        await asyncio.sleep(0.01)
                    victim = dice.randrange(PROCESSES)
                    processes[victim].kill()
                    processes[victim].wait()
                    processes[victim] = start(dsn, ours.id)
                await asyncio.wait_for(following, 120)
            finally:
                for process in processes:
                    process.kill()
                    process.wait()
            rows = await app.pool.fetch(
                "select sequence, data from event where organisation_id = $1 order by sequence", ours.id
            )
            assert [number_in(row["data"]) for row in rows] == list(range(1, CHANGES + 1))
            assert [row["sequence"] for row in rows] == list(range(1, CHANGES + 1))
            assert told == list(range(1, CHANGES + 1))
            # Calls whose worker died are due again when their lease ends, and a row that a dead transaction has locked
            # is free a moment later: let the leases end until none is left, and dispatchers look.
            async with asyncio.timeout(120):
                while (await delivery_store.next_due(app.pool)) != (False, None):
                    await app.pool.execute(
                        """
                        update webhook_delivery d set due = clock_timestamp()
                        from (select organisation_id, id from webhook_delivery where state = 'PENDING'
                              for update skip locked) as free
                        where (d.organisation_id, d.id) = (free.organisation_id, free.id)
                        """
                    )
                    await webhook_store.wake(app.pool)
                    await asyncio.sleep(1)
            called = {number_in(json.loads(call.body)) for call in receiver.calls}
            assert called == set(range(1, CHANGES + 1))
