"""Killing workers under load: no write that was acknowledged is lost, none happens twice."""

import os
import random
import threading
import time
from pathlib import Path

import asyncpg
import pytest
from bench.crash import Writers, verify
from tests.journeys.service import a_service, wait_until

from gridloom.platform.database.server.embedded import EmbeddedPostgres

pytestmark = pytest.mark.slow

ROUNDS = 14
WORKERS = min(2, os.cpu_count() or 1)


class TestKilledWorker:
    def test_loses_no_acknowledged_write_and_doubles_none(self) -> None:
        with a_service() as service:
            service.start()
            writers = Writers(service.port, service.operator_token, count=8)
            writers.start()
            chance = random.Random(20)
            for _ in range(ROUNDS):
                time.sleep(chance.uniform(0.05, 0.3))
                wait_until(lambda: len(service.workers()) == WORKERS)
                chance.choice(service.workers()).kill()
            outcome = writers.finish()
            # A connection that came in just before the last kill ends with its worker.
            wait_until(lambda: len(service.workers()) == WORKERS and service.is_ready())
            report = verify(service.port, service.operator_token(), outcome)
            assert outcome.acknowledged, "no write came through"
            assert outcome.refused == []
            assert report.lost == []
            assert report.doubled == []


class TestShutdown:
    async def test_answers_whatever_it_has_done(self) -> None:
        """A connection may be closed between two requests; but what a request has changed, its answer has told."""
        with a_service() as service:
            outcomes = []
            for _ in range(2):
                service.start()
                writers = Writers(service.port, service.operator_token, count=8, retries=False)
                writers.start()
                time.sleep(1)
                stopping = threading.Thread(target=service.stop)
                stopping.start()
                outcomes.append(writers.finish(after=stopping))
            names = await organisation_names(service.home)
            for outcome in outcomes:
                assert outcome.acknowledged
                assert outcome.refused == []
                assert [name for name in outcome.broken if name in names] == []
                assert set(outcome.acknowledged) <= names


async def organisation_names(home: Path) -> set[str]:
    postgres = EmbeddedPostgres(home)
    connection = await asyncpg.connect(postgres.start())
    try:
        return {row["name"] for row in await connection.fetch("select name from organisation")}
    finally:
        await connection.close()
        postgres.stop()
