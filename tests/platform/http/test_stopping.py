"""A service that stops with a crowd at its door."""

import asyncio
from collections import Counter

from tests.conftest import running_edge
from tests.people import client_of
from tests.platform.http.conftest import toy_service


class TestAServiceThatStops:
    async def test_answers_all_requests_in_progress(self, database_url):
        """Many more than there are connections: most of them are still waiting for one when the service stops."""
        edge = toy_service(database_url)
        async with running_edge(edge), client_of(edge, "crowd+Read:auctions") as client:
            assert (await client.get("/naps/0")).status_code == 200, "and none was in progress for a moment"
            asking = [asyncio.create_task(client.get("/naps/1")) for _ in range(12)]
            async with asyncio.timeout(120):
                while edge._in_progress < len(asking):
                    await asyncio.sleep(0.01)
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*asking))
        assert statuses == {200: 12}

    async def test_tells_later_clients_to_come_again(self, database_url):
        edge = toy_service(database_url)
        async with running_edge(edge):
            pass
        async with client_of(edge, "late+Read:auctions") as client:
            answer = await client.post("/toys", json={"name": "x"})
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
