"""The primary dies and its standby takes over: no request is answered 500, and what was acknowledged is there."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from dataclasses import replace

import httpx2
import pytest
from asyncpg.exceptions import TargetServerAttributeNotMatched
from bench.standby import crash_server
from tests.assets import AssetUnderTest, register_asset
from tests.conftest import running
from tests.people import People
from tests.platform.database.clusters import primary_and_standby

from gridloom.platform.database.errors import DatabaseFailure, classify_error
from gridloom.platform.database.pool import create_pool
from gridloom.settings import Settings

WRITERS = 4


class Ledger:
    """What was acknowledged, and every status there was."""

    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.statuses: Counter[int] = Counter()
        self.is_over = asyncio.Event()

    async def keep_writing(self, asset: AssetUnderTest) -> None:
        """As a client does who means it: the same entry again under the same key until it is there."""
        while not self.is_over.is_set():
            title, key = uuid.uuid4().hex, uuid.uuid4().hex
            body = {"title": title, "type": "note", "start": "2026-01-01T00:00:00Z"}
            while not self.is_over.is_set():
                answer = await asset.owner.admin.post(
                    asset.path("/logbook"), json=body, headers={"Idempotency-Key": key}
                )
                self.statuses[answer.status_code] += 1
                if answer.status_code == 201:
                    self.acknowledged.add(title)
                    break
                await asyncio.sleep(0.02)

    async def keep_reading(self, asset: AssetUnderTest) -> None:
        while not self.is_over.is_set():
            self.statuses[(await asset.owner.admin.get(asset.path())).status_code] += 1
            await asyncio.sleep(0.01)


async def is_ready(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/health/ready")).status_code == 200


async def read_titles(asset: AssetUnderTest) -> set[str]:
    titles: set[str] = set()
    link: str | None = asset.path("/logbook") + "?limit=1000"
    while link is not None:
        answer = await asset.owner.admin.get(link)
        titles |= {entry["title"] for entry in answer.json()}
        link = answer.links.get("next", {}).get("url")
    return titles


@pytest.mark.slow
class TestATakeover:
    async def test_loses_nothing_that_was_acknowledged_and_answers_no_500(self) -> None:
        ledger = Ledger()
        async with primary_and_standby(is_synchronous=True) as pair:
            settings = Settings(environment="sandbox", database_url=pair.url_of_both, simulator=False)
            async with running(settings) as edge, People(edge) as people:
                asset = await register_asset(await people.new_organisation())
                writers = [asyncio.create_task(ledger.keep_writing(asset)) for _ in range(WRITERS)]
                writers.append(asyncio.create_task(ledger.keep_reading(asset)))
                async with asyncio.timeout(120):
                    while len(ledger.acknowledged) <= 20:
                        await asyncio.sleep(0.05)
                crash_server(pair.primary)
                await asyncio.sleep(0.5)
                assert not await is_ready(asset.owner.admin)
                pair.standby.promote()
                async with asyncio.timeout(120):
                    while not await is_ready(asset.owner.admin):
                        await asyncio.sleep(0.05)
                known = len(ledger.acknowledged)
                async with asyncio.timeout(120):
                    while len(ledger.acknowledged) < known + 20:
                        await asyncio.sleep(0.05)
                ledger.is_over.set()
                await asyncio.gather(*writers)
                assert ledger.acknowledged <= await read_titles(asset)
        assert set(ledger.statuses) <= {200, 201, 409, 503}, ledger.statuses
        assert ledger.statuses[503] > 0

    async def test_leaves_reads_to_the_server_that_is_the_standby_from_then_on(self) -> None:
        async with primary_and_standby() as pair:
            settings = Settings(environment="sandbox", database_url=pair.url_of_both, simulator=False)
            settings = replace(settings, read_database_urls=(pair.name_both("standby"),))
            async with running(settings) as edge, People(edge) as people:
                asset = await register_asset(await people.new_organisation())
                crash_server(pair.primary)
                pair.standby.promote()
                pair.exchange_roles()
                assert edge.replicas is not None
                (replica,) = edge.replicas.all
                async with asyncio.timeout(120):
                    while not await is_ready(asset.owner.admin) or replica.disabled_because is not None:
                        await asyncio.sleep(0.1)
                answered = replica.answered
                async with asyncio.timeout(120):
                    while replica.answered == answered:  # what it has not replayed yet, the primary answers
                        assert (await asset.owner.admin.get("/physical-assets")).status_code == 200

    async def test_takes_a_standby_that_was_not_promoted_for_an_unreachable_database(self) -> None:
        async with primary_and_standby() as pair:
            with pytest.raises(TargetServerAttributeNotMatched) as found:
                await create_pool(f"{pair.standby.dsn}&target_session_attrs=read-write")
            assert classify_error(found.value) is DatabaseFailure.UNREACHABLE
