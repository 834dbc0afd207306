"""What callers and the log are told when the database fails, or we do."""

import asyncio
import uuid
from collections import Counter
from contextlib import suppress

import asyncpg
import pytest
import structlog
from tests.people import client_of

from gridloom.platform.http.answer import errors


@pytest.fixture
def lines():
    """What the edge writes to the log, line by line."""
    errors._last_traceback_at.clear()
    with structlog.testing.capture_logs() as captured:
        yield captured


class TestTerminatedBackends:
    async def test_never_make_a_500(self, toys, database_url):
        """Backends end by the dozen while requests run: each is answered as asked, or 503 with Retry-After."""
        statuses: Counter[int] = Counter()
        is_over = asyncio.Event()

        async def ask():
            async with client_of(toys, f"{uuid.uuid4().hex}+Read:auctions") as client:
                while not is_over.is_set():
                    for answer in (
                        await client.post("/toys", json={"name": "x"}, headers={"Idempotency-Key": uuid.uuid4().hex}),
                        await client.post("/toys", json={"name": "slow"}),
                        await client.get("/toys"),
                    ):
                        statuses[answer.status_code] += 1
                        if answer.status_code == 503:
                            assert int(answer.headers["retry-after"]) >= 1
                            assert answer.json()["requestId"]

        asking = [asyncio.create_task(ask()) for _ in range(8)]
        connection = await asyncpg.connect(database_url)
        for _ in range(25):
            await connection.execute(
                """
                select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid() and application_name = 'gridloom'
                """
            )
            await asyncio.sleep(0.1)
        await connection.close()
        is_over.set()
        await asyncio.gather(*asking)
        assert set(statuses) <= {200, 201, 503}, statuses
        assert statuses[503] > 0


class TestARefusalForNow:
    @pytest.mark.parametrize(
        ("error", "is_certain", "retry_after_s"),
        [
            (ConnectionResetError(), False, 2),
            (asyncpg.QueryCanceledError(), True, 1),
            (asyncpg.ReadOnlySQLTransactionError(), True, 5),
            (asyncpg.DiskFullError(), True, 30),
        ],
    )
    def test_says_that_nothing_was_changed_unless_the_commit_may_have_succeeded(self, error, is_certain, retry_after_s):
        problem = errors.problem_of(error)
        assert (problem.status, problem.headers["Retry-After"]) == (503, str(retry_after_s))
        assert f"after {retry_after_s} s." in problem.detail
        assert ("Nothing was changed" in problem.detail) is is_certain
        assert ("Idempotency-Key" in problem.detail) is not is_certain

    @pytest.mark.parametrize("error", [asyncpg.CharacterNotInRepertoireError(), asyncpg.UntranslatableCharacterError()])
    def test_is_none_of_text_that_cannot_be_stored(self, error):
        assert errors.problem_of(error).status == 400


class TestAFailure:
    async def test_of_a_stream_before_its_first_piece_is_a_problem(self, client, lines):
        answer = await client.get("/broken-streams/0")
        assert answer.status_code == 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert [line["event"] for line in lines] == ["request.failed"]

    async def test_of_a_stream_later_on_is_logged_and_counted(self, client, lines):
        counted = errors.ABORTED_STREAMS.labels("breakOff")._value
        before = counted.get()
        with suppress(Exception):
            await client.get("/broken-streams/3")
        assert [line["event"] for line in lines if line["log_level"] == "error"] == ["response.aborted"]
        assert counted.get() == before + 1


class TestAnAnswer:
    async def test_is_not_cached_nor_taken_for_something_else(self, client):
        for answer in (await client.get("/toys"), await client.get("/faults/bug"), await client.get("/nothing")):
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert (await client.get("/faults/large")).headers["x-content-type-options"] == "nosniff"
