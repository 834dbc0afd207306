"""The blocking and the awaiting client grant the same wishes over HTTP."""

from collections.abc import AsyncIterator, Callable, Iterator
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
    def test_follows_streams_across_losses(self):
        with blocking(service, api_key="k") as client:
            events = client.monitoring.follow("1")
            seen = [next(events) for _ in range(3)]
            assert [next(each.points())[::2] for each in seen] == [("active_power", n) for n in (1.0, 2.0, 3.0)]
            assert [(each.kind, each.place) for each in seen] == [("datapoints", n) for n in "123"]
            events.close()

    def test_goes_where_a_read_was_moved_and_takes_no_token_to_another_host(self):
        tokens: list[tuple[str, str | None]] = []
        with blocking(noting_tokens(tokens), api_key="k") as client:
            for place in ("moved", "elsewhere"):
                assert client.organisations.get(place).name == "A"
        assert tokens == FOLLOWED


class TestAwaitingClient:
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

    def test_shows_no_secret_when_printed(self):
        client = Client(username="ada", password="hunter2")
        assert "hunter2" not in repr(client._exchange)
