"""Signing in, renewing, trying again, following pages and streams: the scripts, played without a network."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.client.script import LOST, ORGANISATION, UNREACHED, World, problem, reply, tokens_in, world

from gridloom_client import (
    NEVER,
    Client,
    ConflictError,
    CredentialsError,
    InMemoryTokenStore,
    NotFoundError,
    ProblemError,
    RawResponse,
    Request,
    ResponseError,
    RetryPolicy,
    Tokens,
    TooManyRequestsError,
    TransportError,
    UnauthenticatedError,
    UnavailableError,
)
from gridloom_client.answers import Organisation
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


class TestSigningIn:
    def test_happens_before_the_first_request_and_once(self):
        exchange, played = with_password(), world(reply(200, pair(1)), reply(), reply())
        played.play(exchange.call(READ))
        played.play(exchange.call(READ))
        assert played.targets == ["/auth/public/authenticate", "/auctions", "/auctions"]
        assert tokens_in(played.requests) == [None, "Bearer a1", "Bearer a1"]

    def test_uses_an_api_key_as_it_is(self):
        played = world(reply())
        played.play(keyed().call(READ))
        assert tokens_in(played.requests) == ["Bearer secret"]

    def test_with_nothing_to_sign_in_with_says_so(self):
        with pytest.raises(CredentialsError, match="not signed in"):
            world().play(ClientSession(None).call(READ))

    def test_with_a_wrong_password_fails_without_trying_again(self):
        with pytest.raises(UnauthenticatedError):
            world(problem(401)).play(with_password().call(READ))

    def test_is_left_out_for_public_operations(self):
        played = world(reply())
        played.play(ClientSession(None).call(READ, is_public=True))
        assert tokens_in(played.requests) == [None]


class TestRenewal:
    def test_happens_shortly_before_the_token_ends(self):
        ending = Tokens(access_token="a1", refresh_token="r1", expires_at=NOW + 29)
        exchange, played = with_password(ending), world(reply(200, pair(2)), reply())
        played.play(exchange.call(READ))
        assert played.targets == ["/auth/public/refresh", "/auctions"]
        assert played.requests[0].content == b'{"refresh_token":"r1"}'
        assert tokens_in(played.requests)[1] == "Bearer a2"

    def test_happens_once_when_the_service_no_longer_takes_the_token(self):
        exchange, played = with_password(fresh(1)), world(problem(401), reply(200, pair(2)), reply())
        played.play(exchange.call(READ))
        assert played.targets == ["/auctions", "/auth/public/refresh", "/auctions"]
        assert tokens_in(played.requests) == ["Bearer a1", None, "Bearer a2"]

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

    def test_without_a_password_asks_to_sign_in_again(self):
        exchange = ClientSession(None, InMemoryTokenStore(fresh(1)), clock=lambda: NOW)
        with pytest.raises(CredentialsError, match="session has ended"):
            world(problem(401), problem(401)).play(exchange.call(READ))

    def test_uses_the_tokens_that_another_call_has_fetched_meanwhile(self):
        exchange = with_password(fresh(1))
        steps = exchange._renew_tokens(stale="a1")
        exchange.store.save(fresh(2))
        world().play(steps)
        assert exchange.store.load() == fresh(2)

    def test_holds_the_lock_from_when_it_looks_until_the_new_tokens_are_stored(self):
        """Of two processes the second one would use the refresh token again, which ends the session."""
        done: list[str] = []

        class Shared(InMemoryTokenStore):
            def load(self) -> Tokens | None:
                done.append("load")
                return super().load()

            def save(self, tokens: Tokens | None) -> None:
                done.append("save")
                super().save(tokens)

            @contextmanager
            def lock(self) -> Iterator[None]:
                done.append("lock")
                yield
                done.append("unlock")

        exchange = ClientSession(None, Shared(fresh(1)), clock=lambda: NOW + 900)
        played = world(reply(200, pair(2)), reply())
        played.play(exchange.call(READ))
        assert done == ["load", "lock", "load", "save", "unlock", "load"]
        assert tokens_in(played.requests) == [None, "Bearer a2"]

    def test_does_not_stop_at_other_tokens_that_have_ended_too(self):
        ended = Tokens(access_token="a2", refresh_token="r2", expires_at=NOW)
        exchange = with_password(ended)
        played = world(reply(200, pair(3)))
        played.play(exchange._renew_tokens(stale="a1"))
        assert played.requests[0].content == b'{"refresh_token":"r2"}'
        assert exchange.store.load() == fresh(3)

    def test_is_not_for_api_keys(self):
        with pytest.raises(UnauthenticatedError):
            world(problem(401)).play(keyed().call(READ))

    def test_can_be_repeated_safely_when_its_answer_is_lost(self):
        played = world(problem(401), LOST, reply(200, pair(2)), reply())
        played.play(with_password(fresh(1)).call(READ))
        first, second = played.requests[1:3]
        assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]


class TestTryingAgain:
    def test_repeats_a_post_under_the_same_key(self):
        played = world(LOST, problem(502), reply(201))
        assert played.play(keyed().call(POST)).status == 201
        assert {request.headers["Idempotency-Key"] for request in played.requests} == {"k"}

    def test_waits_twice_as_long_each_time(self):
        played = world(LOST, LOST, LOST, reply())
        played.play(keyed().call(READ))
        assert played.pauses == [0.2, 0.4, 0.8]

    def test_gives_up_after_the_last_attempt(self):
        played = world(UNREACHED, UNREACHED, UNREACHED)
        with pytest.raises(TransportError):
            played.play(keyed(attempts=3).call(READ))
        assert len(played.pauses) == 2

    def test_does_not_repeat_a_deletion_whose_answer_is_lost(self):
        with pytest.raises(TransportError):
            world(LOST).play(keyed().call(DELETE))

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

    @pytest.mark.parametrize("status", [502, 504])
    @pytest.mark.parametrize("request_", [READ, POST, Request("PUT", "/fleets/1", {}, b"{}")])
    def test_repeats_what_has_its_effect_once_where_a_proxy_lost_the_answer(self, request_: Request, status: int):
        assert world(problem(status), reply()).play(keyed().call(request_)).status == 200

    def test_repeats_a_deletion_that_never_arrived(self):
        assert world(UNREACHED, reply(204)).play(keyed().call(DELETE)).status == 204

    @pytest.mark.parametrize("status", [429, 503])
    def test_waits_as_long_as_the_service_asks(self, status: int):
        played = world(problem(status, retry_after="7"), reply())
        played.play(keyed().call(DELETE))
        assert played.pauses == [7.0]

    def test_never_waits_for_less_than_it_would_by_itself(self):
        played = world(*[problem(503, retry_after="0.3")] * 2, reply())
        played.play(keyed().call(READ))
        assert played.pauses == [0.3, 0.4]

    def test_does_not_wait_for_ever(self):
        with pytest.raises(TooManyRequestsError) as caught:
            world(problem(429, retry_after="3600")).play(keyed().call(READ))
        assert caught.value.retry_after_s == 3600
        played = world(problem(429, retry_after="20"), reply())
        assert (played.play(keyed().call(READ)).status, played.pauses) == (200, [20.0]), "as long as it waits at most"

    def test_asks_again_while_the_first_request_is_still_running(self):
        played = world(LOST, problem(409, "idempotency-in-progress", retry_after="1"), reply(201))
        assert played.play(keyed().call(POST)).status == 201
        assert played.pauses == [0.2, 1.0]

    def test_takes_every_other_conflict_as_the_answer(self):
        with pytest.raises(ConflictError):
            world(problem(409, "gate-closed")).play(keyed().call(POST))
        with pytest.raises(ConflictError):
            world(problem(409, "idempotency-in-progress")).play(keyed().call(DELETE))

    def test_leaves_a_refusal_as_it_is_at_the_end(self):
        with pytest.raises(UnavailableError):
            world(*[problem(503)] * 4).play(keyed().call(READ))

    def test_does_not_repeat_what_is_refused_for_good(self):
        for status, kind in ((400, ProblemError), (404, NotFoundError)):
            with pytest.raises(kind):
                world(problem(status)).play(keyed().call(READ))

    def test_takes_no_redirection_for_an_answer_but_what_has_not_changed(self):
        for status in (300, 302):
            with pytest.raises(ResponseError, match=f"answered {status}"):
                world(reply(status)).play(keyed().call(READ))
        assert world(reply(304)).play(keyed().call(READ)).status == 304

    @pytest.mark.parametrize("attempt", range(1, 12))
    def test_waits_a_random_part_of_a_bounded_pause(self, attempt: int):
        assert (
            0
            < RetryPolicy(random=lambda: 0.0).pause_s(attempt)
            <= RetryPolicy(random=lambda: 1.0).pause_s(attempt)
            <= 20.0
        )


class TestPaging:
    def test_follows_the_links_to_the_last_page(self):
        client = Client("http://gridloom.test", api_key="secret")
        first = [{**ORGANISATION, "new": 1}]
        second = [{**ORGANISATION, "id": "01890000-0000-7000-8000-000000000002", "name": "B", "kind": "OPERATOR"}]
        played = world(reply(200, first, link='</organisations?cursor=x&limit=1>; rel="next"'), reply(200, second))
        operation = type(client.organisations).list
        played.play(operation.items(client._exchange, operation.request(page_size=1)))
        assert played.targets == ["/organisations?limit=1", "/organisations?cursor=x&limit=1"]
        assert [organisation.name for organisation in played.emitted] == ["A", "B"]
        assert all(isinstance(organisation, Organisation) for organisation in played.emitted)

    def test_fetches_no_page_that_is_not_asked_for(self):
        client = Client("http://gridloom.test", api_key="secret")
        items = [ORGANISATION]
        played = world(reply(200, items, link='</organisations?cursor=x>; rel="next"'))
        operation = type(client.organisations).list
        played.play(operation.items(client._exchange, operation.request()), emits=1)
        assert len(played.requests) == 1


class TestFollowing:
    def follow(self, played: World, emits: int | None = None, last_event_id: str = "") -> None:
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        request = Request("GET", "/events", headers)
        played.play(keyed().events(request, lambda event: event.data), emits)

    def test_resumes_a_lost_stream_after_the_last_event(self):
        played = world(reply(), b"id: 1\ndata: a\n\nid: 2\n", b"data: b\n\n", LOST, reply(), b"id: 3\ndata: c\n\n")
        self.follow(played, emits=3)
        assert played.emitted == ["a", "b", "c"]
        assert [request.headers.get("Last-Event-ID") for request in played.requests] == [None, "2"]

    def test_resumes_a_stream_that_the_service_closed(self):
        played = world(reply(), b"id: 1\ndata: a\n\n", None, reply(), b"id: 2\ndata: b\n\n")
        self.follow(played, emits=2)
        assert played.emitted == ["a", "b"]

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

    def test_resumes_with_a_new_token_where_the_last_one_has_ended_meanwhile(self):
        """A stream outlives its token by far; the service ends it, and refuses the token."""
        exchange = with_password(fresh(1))
        played = world(
            *(reply(), b"id: 1\ndata: a\n\n", None, problem(401), reply(200, pair(2))),
            *(reply(), b"id: 2\ndata: b\n\n"),
        )
        played.play(exchange.events(Request("GET", "/events"), lambda event: event.data), emits=2)
        assert played.emitted == ["a", "b"]
        assert tokens_in(played.requests) == ["Bearer a1", "Bearer a1", None, "Bearer a2"]
        assert [request.headers.get("Last-Event-ID") for request in played.requests] == [None, "1", None, "1"]

    @pytest.mark.parametrize("status", [400, 403, 404])
    def test_ends_where_the_service_refuses_it_for_good(self, status: int):
        """As when a right was taken back: asking again would not help."""
        played = world(reply(), b"id: 1\ndata: a\n\n", None, problem(status))
        with pytest.raises(ProblemError) as refused:
            self.follow(played)
        assert (refused.value.status, played.emitted, len(played.requests)) == (status, ["a"], 2)

    def test_starts_after_the_event_that_the_caller_names(self):
        played = world(reply(), b"data: a\n\n")
        self.follow(played, emits=1, last_event_id="41")
        assert played.requests[0].headers["Last-Event-ID"] == "41"

    def test_waits_as_long_as_the_service_asks_before_resuming(self):
        played = world(reply(), b"retry: 1500\n\n", None, reply(), b"data: a\n\n")
        self.follow(played, emits=1)
        assert played.pauses == [1.5]
        impatient = world(reply(), b"retry: 60000\n\n", None, reply(), b"data: a\n\n")
        self.follow(impatient, emits=1)
        assert impatient.pauses == [20.0], "never longer than the client waits"

    def test_ends_when_the_service_has_nothing_more(self):
        self.follow(world(reply(204)))

    def test_outlasts_a_service_that_is_away_for_minutes(self):
        away = [UNREACHED] * 40 + [problem(503)] * 8
        played = world(reply(), b"id: 1\ndata: a\n\n", LOST, *away, reply(), b"id: 2\ndata: b\n\n")
        self.follow(played, emits=2)
        assert played.emitted == ["a", "b"]
        assert {request.headers.get("Last-Event-ID") for request in played.requests[1:]} == {"1"}
        assert (played.pauses[0], max(played.pauses)) == (0.2, 20.0)

    def test_gives_up_when_it_was_away_for_too_long(self):
        exchange = ClientSession(ApiKey("secret"), retries=RetryPolicy(random=lambda: 1.0, resume_for_s=1.0))
        lost_again: list[RawResponse | TransportError] = [LOST, reply()]
        with pytest.raises(TransportError):
            world(reply(), *lost_again * 9).play(exchange.events(Request("GET", "/events"), lambda event: event))

    def test_starts_its_patience_anew_with_every_sign_of_life(self):
        exchange = ClientSession(ApiKey("secret"), retries=RetryPolicy(random=lambda: 1.0, resume_for_s=1.0))
        lost_again: list[RawResponse | TransportError | bytes] = [reply(), b": still here\n", LOST]
        played = world(*lost_again * 20, reply(), b"data: a\n\n")
        played.play(exchange.events(Request("GET", "/events"), lambda event: event.data), emits=1)
        assert played.emitted == ["a"]
        assert set(played.pauses) == {0.2}

    def test_does_not_wait_for_a_stream_that_never_was_open(self):
        with pytest.raises(TransportError):
            self.follow(world(*[UNREACHED] * 4))

    def test_is_not_resumed_by_a_client_without_retries(self):
        exchange = ClientSession(ApiKey("secret"), retries=NEVER)
        with pytest.raises(TransportError):
            world(reply(), LOST).play(exchange.events(Request("GET", "/events"), lambda event: event))


class TestAPositionInTheLog:
    @staticmethod
    def positions_in(played: World) -> list[str | None]:
        return [request.headers.get("Gridloom-Position") for request in played.requests]

    def test_is_handed_along_with_reads_once_a_change_was_answered(self):
        exchange = keyed()
        played = world(reply(), reply(201, {}, **{"gridloom-position": "63f1a.c2VhbGVk"}), reply(), reply(201, {}))
        for request in (READ, POST, READ, POST):
            played.play(exchange.call(request))
        assert self.positions_in(played) == [None, None, "63f1a.c2VhbGVk", None]

    def test_is_the_latest_that_was_seen(self):
        exchange = keyed()
        told = ["f0000000.zz", "100000010.aa", "ffffffff.zz", "nonsense"]
        played = world(*(reply(201, {}, **{"gridloom-position": position}) for position in told), reply())
        for request in (*[POST] * len(told), READ):
            played.play(exchange.call(request))
        assert self.positions_in(played)[-1] == "100000010.aa"

    def test_is_dropped_when_another_callers_change_was_announced(self):
        exchange = keyed()
        exchange.position = "1.a"
        played = world(reply(), b"id: 1\ndata: a\n\n", reply())
        played.play(exchange.events(Request("GET", "/events"), lambda event: event.data), emits=1)
        played.play(exchange.call(READ))
        assert self.positions_in(played) == ["1.a", None]
