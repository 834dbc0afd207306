"""What is old is forgotten; places are never given twice."""

from datetime import timedelta

from tests.platform.events.happening import record

from gridloom.platform.events import store


class TestForgetting:
    async def test_takes_the_old_and_leaves_the_young_and_the_counters(self, pool, organisation) -> None:
        ours = await organisation()
        for number in range(5):
            await record(pool, ours, number)
        await store.sequence_events(pool, 100)
        await pool.execute("update event set sequenced_at = sequenced_at - interval '31 days' where sequence <= 3")
        assert await store.delete_events_before(pool, timedelta(days=30), 2) == 2
        assert await store.delete_events_before(pool, timedelta(days=30), 2) == 1
        assert await store.first_retained_sequence(pool, ours) == 4
        await record(pool, ours, 5)
        await store.sequence_events(pool, 100)
        assert (await store.last_sequences(pool, [ours]))[ours] == 6
