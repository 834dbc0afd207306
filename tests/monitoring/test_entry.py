"""Telemetry written through another node of a distributed database: here a second pool of the same server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from tests.conftest import migrated_database
from tests.monitoring.calls import DAY, write
from tests.monitoring.test_streams import following, upcoming

from gridloom.monitoring.ingest.entry import TelemetryEntry, open_entry
from gridloom.platform.database.pool import Pool
from gridloom.settings import Settings

COLUMNS = {"frequency": {"time": [DAY[0]], "value": [50.0]}}


@pytest.fixture
async def entry(app: Any, settings: Settings) -> AsyncIterator[Pool]:
    opened = await open_entry(app.pool, settings.database_url, 2)
    assert opened.pool is not None
    app.resources[TelemetryEntry].pool = opened.pool
    yield opened.pool
    app.resources[TelemetryEntry].pool = None
    await opened.pool.close()


class TestTelemetryThroughAnotherNode:
    async def test_reaches_the_streams_that_follow_the_asset(
        self, owner: Any, asset: str, app: Any, entry: Pool
    ) -> None:
        async with following(app, owner.viewer.headers["Authorization"], asset) as events:
            await upcoming(events)
            await write(owner, asset, COLUMNS)
            assert (await upcoming(events))[::2] == ("datapoints", COLUMNS)

    async def test_goes_through_the_coordinator_under_an_idempotency_key(
        self, owner: Any, asset: str, entry: Pool
    ) -> None:
        for _ in range(2):
            answer = await owner.engineer.post(
                f"/monitoring/{asset}/datapoints", json=COLUMNS, headers={"Idempotency-Key": "once"}
            )
            assert answer.json()["written"] == 1, "the second is the first one's answer"
        assert entry.get_size() == 0

    async def test_is_refused_with_503_where_the_node_is_of_another_database(
        self, owner: Any, asset: str, app: Any
    ) -> None:
        """Which has an operator of its own."""
        async with migrated_database() as url:
            connection = await asyncpg.connect(url)
            await connection.execute(
                "insert into organisation (id, name, kind) values (gen_random_uuid(), 'Other', 'OPERATOR')"
            )
            await connection.close()
            other = await open_entry(app.pool, url, 1)
            app.resources[TelemetryEntry].pool = other.pool
            try:
                await write(owner, asset, COLUMNS, status=503)
            finally:
                app.resources[TelemetryEntry].pool = None
                assert other.pool is not None
                await other.pool.close()
