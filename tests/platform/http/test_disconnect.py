"""The work for a client that disconnects is cancelled."""

from __future__ import annotations

import asyncio

from gridloom.platform.http.disconnect import DisconnectWatcher


async def call(edge, path, messages):
    """One request whose connection says what is in `messages`; what was sent as its answer."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [],
        "client": ("10.0.0.1", 1),
    }
    await edge(scope, messages.get, send)
    return sent


class TestACallerWhoLeaves:
    async def test_ends_the_work_and_its_statement(self, toys):
        messages: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        asking = asyncio.create_task(call(toys, "/naps/30", messages))
        sleeping = """select count(*) from pg_stat_activity
          where query like 'select pg_sleep(%' and state = 'active' and datname = current_database()"""
        async with asyncio.timeout(120):
            while await toys.pool.fetchval(sleeping) != 1:
                await asyncio.sleep(0.05)
        await messages.put({"type": "http.disconnect"})
        async with asyncio.timeout(120):
            assert await asking == []
            while await toys.pool.fetchval(sleeping):
                await asyncio.sleep(0.05)


class TestASlowRequest:
    async def test_that_is_done_is_watched_no_more(self):
        """Else its connection's next request would miss what the watch has read."""
        watcher = DisconnectWatcher()
        done, answered = watcher.expect(asyncio.Queue().get), watcher.expect(asyncio.Queue().get)
        watcher._start_watches()
        watcher.work_is_done(done)
        watcher._start_watches()
        assert (done._watch, answered._watch is None) == (None, False)
        watcher.work_is_done(answered)
        gone = answered.gone()
        answered.close()
        await asyncio.wait({gone})
        assert gone.cancelled()

    async def test_is_watched_by_one_from_the_second_look_on(self):
        """A connection has one reader."""
        watcher = DisconnectWatcher()
        slow = watcher.expect(asyncio.Queue().get)
        watcher._start_watches()
        assert slow._watch is None
        watcher._start_watches()
        watching = slow._watch
        watcher._start_watches()
        assert slow._watch is slow.gone() is watching is not None
        slow.close()
