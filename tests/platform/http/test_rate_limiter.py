"""A limit holds, and each caller gets all of it."""

from __future__ import annotations

import asyncio

import asyncpg

from gridloom.kernel.ids import uuid7
from gridloom.kernel.problem import TooManyRequests
from gridloom.platform.database.pool import create_pool
from gridloom.platform.http.shares import TokenBuckets, delete_full_buckets


def buckets_of(per_minute: int) -> TokenBuckets:
    return TokenBuckets("public", per_minute=per_minute, burst=per_minute, scope="public")


async def take(buckets: TokenBuckets, pool: asyncpg.Pool, caller: str) -> bool:
    try:
        await buckets.take(pool, caller, {})
    except TooManyRequests:
        return False
    return True


class TestALimit:
    async def test_gives_requests_that_come_together_all_that_they_leased(self, database_url: str):
        """Each of the first asks for a lease of its own; none of these leases may be forgotten."""
        pool = await create_pool(database_url, size=8)
        buckets, caller = buckets_of(400), str(uuid7())
        granted = [await asyncio.gather(*(take(buckets, pool, caller) for _ in range(40))) for _ in range(10)]
        await pool.close()
        assert all(all(together) for together in granted)

    async def test_knows_how_much_of_it_is_used(self, database_url: str):
        pool = await create_pool(database_url, size=1)
        buckets, caller = TokenBuckets("public", per_minute=1, burst=60, scope="public"), uuid7()
        assert (await buckets.read_use(pool, caller)).used == 0
        for _ in range(4):
            assert await take(buckets, pool, str(caller))
        use = await buckets.read_use(pool, caller)
        later = []
        for minutes in (2, 600):
            await pool.execute(
                "update request_bucket set refilled_at = clock_timestamp() - make_interval(mins => $2) where key = $1",
                *(f"public|{caller}", minutes),
            )
            later.append((await buckets.read_use(pool, caller)).used)
        await pool.close()
        assert (use.used, use.limit, use.per_minute) == (6, 60, 1), "leased by threes"
        assert later == [4, 0], "one comes back each minute, until all of it is there"

    async def test_is_one_for_all_replicas(self, database_url: str):
        pool = await create_pool(database_url, size=8)
        workers, caller = [buckets_of(100) for _ in range(4)], str(uuid7())
        answers = await asyncio.gather(*(take(workers[number % 4], pool, caller) for number in range(300)))
        await pool.close()
        assert 100 <= sum(answers) < 200  # the bucket is refilled meanwhile

    async def test_is_forgotten_once_it_is_whole_again(self, database_url: str):
        """After an hour, whatever it is; counts of an earlier release after five minutes."""
        whose = uuid7().hex
        async with await create_pool(database_url, size=1) as pool:
            for minutes in (4, 6, 59, 61):
                await pool.execute(
                    """
                    with bucket as (
                      insert into request_bucket (key, tokens, refilled_at)
                      select $1, 0, clock_timestamp() - make_interval(mins => $2)
                    )
                    insert into rate_limit values ($1, clock_timestamp() - make_interval(mins => $2), 1, 1)
                    """,
                    f"{whose}|{minutes}",
                    minutes,
                )
            await delete_full_buckets(pool)
            kept = [
                {row["key"] for row in await pool.fetch(f"select key from {table} where key like $1", f"{whose}%")}
                for table in ("request_bucket", "rate_limit")
            ]
        assert kept == [{f"{whose}|{minutes}" for minutes in (4, 6, 59)}, {f"{whose}|4"}]
