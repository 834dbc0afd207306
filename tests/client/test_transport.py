"""The blocking and the awaiting client grant the same wishes over HTTP."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2
import pytest
from tests.client.script import ORGANISATION

from gridloom_client import CSV, AsyncClient, Client, ResponseError, RetryPolicy, TransportError, UnavailableError

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
        case "/organisations/moved":
            return httpx2.Response(307, headers={"Location": "/api/organisations/1"})
        case "/organisations/elsewhere":
            return httpx2.Response(307, headers={"Location": "http://elsewhere.test/api/organisations/1"})
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


def signing_in(asked: list[str]) -> Handler:
    """The service, which also signs in; notes what it is asked for."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        if request.url.path.endswith("/authenticate"):
            return httpx2.Response(200, json={"access_token": "a", "expires_in": 900, "refresh_token": "r"})
        return service(request)

    return answer


def noting_tokens(seen: list[tuple[str, str | None]]) -> Handler:
    """The service, and another host that knows the same; notes which is asked with which token."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.url.host, request.headers.get("authorization")))
        return service(request)

    return answer


OURS = ("gridloom.test", "Bearer k")
FOLLOWED = [OURS, OURS, OURS, ("elsewhere.test", None)]


class Lines:
    """The service, whose streams break after an event and know whether they were closed."""

    def __init__(self) -> None:
        self.opened: list[httpx2.Request] = []
        self.closed = 0
        self.patience_s: list[float] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.patience_s.append(request.extensions["timeout"]["read"])
        answer = service(request)
        if request.url.path.endswith("/stream"):
            self.opened.append(request)
            return httpx2.Response(200, stream=Line(self, answer.content))
        return answer


class Line(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, lines: Lines, content: bytes) -> None:
        self._lines, self._content = lines, content

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        raise httpx2.ReadError("lost")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content
        raise httpx2.ReadError("lost")

    def close(self) -> None:
        self._lines.closed += 1

    async def aclose(self) -> None:
        self._lines.closed += 1


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

    def test_signs_in_when_it_is_told_to_and_keeps_the_tokens(self):
        asked: list[str] = []
        with blocking(signing_in(asked), username="ada", password="pw") as client:
            assert client.sign_in().access_token == "a"
            client.organisations.get("1")
        assert asked == ["/api/auth/public/authenticate", "/api/organisations/1"]

    def test_gives_back_each_stream_and_is_patient_with_a_silent_one(self):
        lines = Lines()
        with blocking(lines.answer, api_key="k", timeout_s=5) as client:
            events = client.monitoring.follow("1")
            for _ in range(3):
                next(events)
            assert (len(lines.opened), lines.closed) == (3, 2), "the one that was lost before the next is opened"
            events.close()
            assert lines.closed == 3
            client.organisations.get("1")
        assert lines.patience_s == [60, 60, 60, 5]

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

    def test_goes_where_a_read_was_moved_and_takes_no_token_to_another_host(self):
        tokens: list[tuple[str, str | None]] = []
        with blocking(noting_tokens(tokens), api_key="k") as client:
            for place in ("moved", "elsewhere"):
                assert client.organisations.get(place).name == "A"
        assert tokens == FOLLOWED

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

    async def test_signs_in_when_it_is_told_to_and_keeps_the_tokens(self):
        asked: list[str] = []
        async with awaiting(signing_in(asked), username="ada", password="pw") as client:
            assert (await client.sign_in()).access_token == "a"
            await client.organisations.get("1")
        assert asked == ["/api/auth/public/authenticate", "/api/organisations/1"]

    async def test_gives_back_each_stream_and_is_patient_with_a_silent_one(self):
        lines = Lines()
        async with awaiting(lines.answer, api_key="k", timeout_s=5) as client:
            events = client.monitoring.follow("1")
            for _ in range(3):
                await anext(events)
            assert (len(lines.opened), lines.closed) == (3, 2), "the one that was lost before the next is opened"
            await events.aclose()
            assert lines.closed == 3
            await client.organisations.get("1")
        assert lines.patience_s == [60, 60, 60, 5]

    async def test_goes_where_a_read_was_moved_and_takes_no_token_to_another_host(self):
        tokens: list[tuple[str, str | None]] = []
        async with awaiting(noting_tokens(tokens), api_key="k") as client:
            for place in ("moved", "elsewhere"):
                assert (await client.organisations.get(place)).name == "A"
        assert tokens == FOLLOWED

    async def test_says_when_an_answer_is_not_the_services(self):
        async with awaiting(service, api_key="k") as client:
            with pytest.raises(ResponseError, match="not what this client expects"):
                await client.fleets.list().rows()
            with pytest.raises(ResponseError, match="points elsewhere"):
                await client.auth.logout()

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


class TestALostConnection:
    @pytest.mark.parametrize(
        ("fault", "may_have_arrived"),
        [
            (httpx2.ConnectError, False),
            (httpx2.ConnectTimeout, False),
            (httpx2.PoolTimeout, False),
            (httpx2.ReadError, True),
            (httpx2.ReadTimeout, True),
            (httpx2.WriteError, True),
            (httpx2.RemoteProtocolError, True),
        ],
    )
    async def test_is_tried_again_only_where_nothing_can_have_arrived(
        self, fault: type[httpx2.RequestError], may_have_arrived: bool
    ):
        asked: list[str] = []

        def lose(request: httpx2.Request) -> httpx2.Response:
            asked.append(request.method)
            raise fault("gone")

        with blocking(lose, api_key="k") as client, pytest.raises(TransportError) as lost:
            client.fleets.delete("1")
        assert lost.value.is_sent is may_have_arrived
        assert len(asked) == (1 if may_have_arrived else 4)
        asked.clear()
        async with awaiting(lose, api_key="k") as other:
            with pytest.raises(TransportError) as lost:
                await other.fleets.delete("1")
        assert lost.value.is_sent is may_have_arrived
        assert len(asked) == (1 if may_have_arrived else 4)


class TestClient:
    def test_takes_an_api_key_or_a_password_not_both(self):
        with pytest.raises(ValueError, match="not both"):
            Client(api_key="k", username="ada", password="pw")

    def test_takes_a_username_only_with_its_password(self):
        with pytest.raises(ValueError, match="password"):
            Client(username="ada")

    @pytest.mark.parametrize("kind", [Client, AsyncClient])
    def test_trusts_the_authorities_that_it_or_the_environment_is_given(
        self, kind: type[Client] | type[AsyncClient], monkeypatch: pytest.MonkeyPatch
    ):
        with pytest.raises(ValueError, match=r"/given\.pem cannot be used as a CA file"):
            kind("https://gridloom.test", api_key="k", verify="/given.pem")
        monkeypatch.setenv("GRIDLOOM_CA_FILE", "/named.pem")
        with pytest.raises(ValueError, match=r"/named\.pem cannot be used as a CA file"):
            kind("https://gridloom.test", api_key="k")

    async def test_says_what_program_it_is_and_is_as_patient_as_it_is_told(self):
        """The list of sessions names the program of each."""
        programs: list[str] = []

        def refuse(request: httpx2.Request) -> httpx2.Response:
            programs.append(request.headers["user-agent"])
            return httpx2.Response(503)

        options: dict[str, Any] = {"api_key": "k", "retries": RetryPolicy(attempts=2, first_pause_s=0.001)}
        options |= {"transport": httpx2.MockTransport(refuse), "progress": True, "timeout_s": 7}
        with Client("http://gridloom.test", **options) as client, pytest.raises(UnavailableError):
            client.auth.me()
        async with AsyncClient("http://gridloom.test", **options) as other:
            with pytest.raises(UnavailableError):
                await other.auth.me()
        assert programs == ["gridloom-python"] * 4
        for each in (client, other):
            assert (each._exchange.show_progress, each._runner.client.timeout.read) == (True, 7)

    def test_calls_any_path(self):
        with blocking(service, api_key="k") as client:
            assert client.call("get", "organisations/1").status == 200

    def test_shows_no_secret_when_printed(self):
        client = Client(username="ada", password="hunter2")
        assert "hunter2" not in repr(client._exchange)
