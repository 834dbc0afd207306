"""Signing in, renewing, trying again, following pages and streams: the scripts, played without a network."""

import pytest
from tests.client.script import LOST, UNREACHED, World, problem, reply, world

from gridloom_client import (
    InMemoryTokenStore,
    NotFoundError,
    ProblemError,
    Request,
    RetryPolicy,
    Tokens,
    TooManyRequestsError,
    TransportError,
    UnauthenticatedError,
)
from gridloom_client.session import ClientSession
from gridloom_client.tokens import ApiKey, Password

pytestmark = pytest.mark.pure

READ = Request("GET", "/auctions")
POST = Request("POST", "/auctions/1/bids", {"Idempotency-Key": "k"}, b"{}")
DELETE = Request("DELETE", "/fleets/1")
NOW = 1_000_000.0


def pair(number: int, expires_in: float = 900) -> dict[str, object]:
    return {"access_token": f"a{number}", "refresh_token": f"r{number}", "expires_in": expires_in}


def keyed(attempts: int = 4) -> ClientSession:
    return ClientSession(ApiKey("secret"), retries=RetryPolicy(attempts=attempts, random=lambda: 1.0))


def with_password(tokens: Tokens | None = None) -> ClientSession:
    return ClientSession(Password("ada", "pw"), InMemoryTokenStore(tokens), clock=lambda: NOW)


def fresh(number: int) -> Tokens:
    return Tokens(access_token=f"a{number}", refresh_token=f"r{number}", expires_at=NOW + 900)


class TestRenewal:
    def test_is_not_tried_twice_for_one_request(self):
        with pytest.raises(UnauthenticatedError):
            world(problem(401), reply(200, pair(2)), problem(401)).play(with_password(fresh(1)).call(READ))

    def test_signs_in_anew_when_the_refresh_token_is_spent(self):
        played = world(problem(401), problem(401), reply(200, pair(2)), reply())
        played.play(with_password(fresh(1)).call(READ))
        assert played.targets == ["/auctions", "/auth/public/refresh", "/auth/public/authenticate", "/auctions"]

    def test_that_is_refused_for_another_reason_keeps_the_session(self):
        exchange = with_password(fresh(1))
        with pytest.raises(NotFoundError):
            world(problem(401), problem(404)).play(exchange.call(READ))
        assert exchange.store.load() == fresh(1)

    def test_counts_the_life_of_a_token_from_when_it_was_asked_for(self):
        seconds = [NOW]
        steps = ClientSession(Password("ada", "pw"), clock=lambda: seconds[0]).signed_in()
        next(steps)
        seconds[0] += 40
        with pytest.raises(StopIteration) as end:
            steps.send(reply(200, pair(1, expires_in=60)))
        assert end.value.value.expires_at == NOW + 60


class TestTryingAgain:
    def test_waits_twice_as_long_each_time(self):
        played = world(LOST, LOST, LOST, reply())
        played.play(keyed().call(READ))
        assert played.pauses == [0.2, 0.4, 0.8]

    @pytest.mark.parametrize("status", [502, 504])
    @pytest.mark.parametrize(
        "request_",
        [
            Request("PATCH", "/fleets/1", {}, b"{}"),
            DELETE,
            Request("POST", "/fleets", {}, b"{}"),
            Request("PUT", "/fleets/1", {"If-Match": '"1"'}, b"{}"),
        ],
        ids=lambda request: request.method,
    )
    def test_does_not_repeat_a_change_whose_answer_a_proxy_lost(self, request_: Request, status: int):
        played = world(problem(status))
        with pytest.raises(ProblemError):
            played.play(keyed().call(request_))
        assert played.requests == [played.requests[0]]

    def test_does_not_wait_for_ever(self):
        with pytest.raises(TooManyRequestsError) as caught:
            world(problem(429, retry_after="3600")).play(keyed().call(READ))
        assert caught.value.retry_after_s == 3600
        played = world(problem(429, retry_after="20"), reply())
        assert (played.play(keyed().call(READ)).status, played.pauses) == (200, [20.0]), "as long as it waits at most"


class TestFollowing:
    def follow(self, played: World, emits: int | None = None, last_event_id: str = "") -> None:
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        request = Request("GET", "/events", headers)
        played.play(keyed().events(request, lambda event: event.data), emits)

    def test_resumes_after_an_id_that_came_without_an_event(self):
        played = world(reply(), b"id: 1\ndata: a\n\n", b"id: 9\n\n", LOST, reply(), b"id: 10\ndata: b\n\n")
        self.follow(played, emits=2)
        assert played.requests[1].headers["Last-Event-ID"] == "9"

    def test_resumes_after_the_last_event_also_where_nothing_but_a_comment_came_since(self):
        played = world(
            *(reply(), b"id: 1\ndata: a\n\n", LOST),
            *(reply(), b": still here\n\n", LOST),
            reply(),
            b"id: 2\ndata: b\n\n",
        )
        self.follow(played, emits=2)
        assert [request.headers.get("Last-Event-ID") for request in played.requests] == [None, "1", "1"]

    def test_ends_when_the_service_has_nothing_more(self):
        self.follow(world(reply(204)))

    def test_does_not_wait_for_a_stream_that_never_was_open(self):
        with pytest.raises(TransportError):
            self.follow(world(*[UNREACHED] * 4))


class TestAPositionInTheLog:
    @staticmethod
    def positions_in(played: World) -> list[str | None]:
        return [request.headers.get("Gridloom-Position") for request in played.requests]

    def test_is_the_latest_that_was_seen(self):
        exchange = keyed()
        told = ["f0000000.zz", "100000010.aa", "ffffffff.zz", "nonsense"]
        played = world(*(reply(201, {}, **{"gridloom-position": position}) for position in told), reply())
        for request in (*[POST] * len(told), READ):
            played.play(exchange.call(request))
        assert self.positions_in(played)[-1] == "100000010.aa"
