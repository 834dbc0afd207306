"""The blocking and the awaiting client grant the same wishes over HTTP."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from tests.client.script import ORGANISATION

from gridloom_client import CSV, AsyncClient, Client, ResponseError, RetryPolicy, TransportError

AT_ONCE = RetryPolicy(first_pause_s=0.001)
Handler = Callable[[httpx2.Request], httpx2.Response]


def blocking(handler: Handler, **options: Any) -> Client:
    return Client("http://gridloom.test/api", retries=AT_ONCE, transport=httpx2.MockTransport(handler), **options)


def awaiting(handler: Handler, **options: Any) -> AsyncClient:
    return AsyncClient("http://gridloom.test/api", retries=AT_ONCE, transport=httpx2.MockTransport(handler), **options)


def service(request: httpx2.Request) -> httpx2.Response:
    """Knows one organisation, in two pages, an event stream that is lost after its first event, and a report."""
    match request.url.path.removeprefix("/api"):
        case "/organisations" if "cursor" not in request.url.params:
            return httpx2.Response(200, json=[ORGANISATION], headers={"Link": '</organisations?cursor=2>; rel="next"'})
        case "/organisations":
            return httpx2.Response(200, json=[ORGANISATION | {"name": "B"}])
        case "/organisations/1":
            return httpx2.Response(200, json=ORGANISATION, headers={"ETag": '"7"'})
        case "/monitoring/1/stream":
            number = int(request.headers.get("last-event-id", "0")) + 1
            points = f'{{"active_power": {{"time": ["2026-01-01T00:00:00Z"], "value": [{number}]}}}}'
            known = f"id: {number}\nevent: datapoints\ndata: {points}\n\n"
            return httpx2.Response(200, content=f"event: of-a-newer-service\ndata: ?\n\n{known}".encode())
        case "/monitoring/1/datapoints":
            assert request.headers["accept"] == CSV
            return httpx2.Response(200, content=b"time,value\n")
        case "/fleets":
            return httpx2.Response(200, content=b"<html>")
        case "/auth/logout":
            return httpx2.Response(302, headers={"Location": "/login"})
    return httpx2.Response(404, json={"title": "No"})


class TestBlockingClient:
    def test_reads_answers_with_their_etags(self):
        with blocking(service, api_key="k") as client:
            answer = client.organisations.get.answer("1")
            assert (answer.value.name, answer.etag, answer.is_replayed) == ("A", '"7"', False)

    def test_iterates_pages(self):
        with blocking(service, api_key="k") as client:
            assert [organisation.name for organisation in client.organisations.list()] == ["A", "B"]

    def test_follows_streams_across_losses(self):
        with blocking(service, api_key="k") as client:
            events = client.monitoring.follow("1")
            seen = [next(events) for _ in range(3)]
            assert [next(each.points())[::2] for each in seen] == [("active_power", n) for n in (1.0, 2.0, 3.0)]
            assert [(each.kind, each.place) for each in seen] == [("datapoints", n) for n in "123"]
            events.close()

    def test_reads_other_media_types_as_bytes(self):
        from datetime import UTC, datetime

        day = datetime(2026, 1, 1, tzinfo=UTC)
        with blocking(service, api_key="k") as client:
            assert client.monitoring.read.content(CSV, "1", start=day, end=day) == b"time,value\n"

    def test_says_when_an_answer_is_not_the_services(self):
        with blocking(service, api_key="k") as client:
            with pytest.raises(ResponseError, match="not what this client expects"):
                list(client.fleets.list())
            with pytest.raises(ResponseError, match="points elsewhere"):
                client.auth.logout()

    def test_says_when_the_service_cannot_be_reached(self):
        with Client("http://127.0.0.1:9", api_key="k", retries=AT_ONCE) as client:
            with pytest.raises(TransportError, match="cannot be reached") as caught:
                client.auth.me()
            assert not caught.value.is_sent

    def test_signs_in_once_for_many_threads(self):
        sign_ins, lock = [], threading.Lock()

        def handler(request: httpx2.Request) -> httpx2.Response:
            if request.url.path.endswith("/authenticate"):
                with lock:
                    sign_ins.append(request)
                time.sleep(0.02)
                return httpx2.Response(200, json={"access_token": "a", "expires_in": 900, "refresh_token": "r"})
            return service(request)

        with blocking(handler, username="ada", password="pw") as client:
            threads = [threading.Thread(target=client.organisations.get, args=("1",)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(sign_ins) == 1


class TestAwaitingClient:
    async def test_reads_answers_with_their_etags(self):
        async with awaiting(service, api_key="k") as client:
            answer = await client.organisations.get.answer("1")
            assert (answer.value.name, answer.etag) == ("A", '"7"')
            assert (await client.organisations.get("1")).name == "A"

    async def test_iterates_pages(self):
        async with awaiting(service, api_key="k") as client:
            assert [organisation.name async for organisation in client.organisations.list()] == ["A", "B"]

    async def test_follows_streams_across_losses(self):
        seen = []
        async with awaiting(service, api_key="k") as client:
            async for event in client.monitoring.follow("1"):
                seen.append(event.data["active_power"][0].value)
                if len(seen) == 3:
                    break
        assert seen == [1.0, 2.0, 3.0]

    async def test_says_when_the_service_cannot_be_reached(self):
        async with AsyncClient("http://127.0.0.1:9", api_key="k", retries=AT_ONCE) as client:
            with pytest.raises(TransportError, match="cannot be reached"):
                await client.auth.me()

    async def test_signs_in_once_for_many_tasks(self):
        sign_ins = []

        async def handler(request: httpx2.Request) -> httpx2.Response:
            if request.url.path.endswith("/authenticate"):
                sign_ins.append(request)
                await asyncio.sleep(0.02)
                return httpx2.Response(200, json={"access_token": "a", "expires_in": 900, "refresh_token": "r"})
            return service(request)

        async with awaiting(handler, username="ada", password="pw") as client:  # type: ignore[arg-type]
            await asyncio.gather(*(client.organisations.get("1") for _ in range(8)))
        assert len(sign_ins) == 1


class TestClient:
    def test_takes_an_api_key_or_a_password_not_both(self):
        with pytest.raises(ValueError, match="not both"):
            Client(api_key="k", username="ada", password="pw")

    def test_takes_a_username_only_with_its_password(self):
        with pytest.raises(ValueError, match="password"):
            Client(username="ada")

    def test_calls_any_path(self):
        with blocking(service, api_key="k") as client:
            assert client.call("get", "organisations/1").status == 200

    def test_shows_no_secret_when_printed(self):
        client = Client(username="ada", password="hunter2")
        assert "hunter2" not in repr(client._exchange)
