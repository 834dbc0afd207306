"""What the edge makes of every request, good and bad."""

import asyncio
import hashlib
import uuid
from typing import Any

import httpx2
import pytest
import zstandard
from tests.clients import PersonClient
from tests.conftest import running_edge
from tests.people import client_of
from tests.platform.http.conftest import toy_service

from gridloom.kernel.networks import parse_network
from gridloom.kernel.shares import Share
from gridloom.platform.http.admit import TrustedProxies
from gridloom.platform.http.application import Application
from gridloom.platform.http.idempotency import delete_expired


def error(response: httpx2.Response) -> tuple[int, str]:
    """Status, and the pointer of the first fault."""
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code
    assert problem["requestId"] == response.headers["x-request-id"]
    return response.status_code, problem["errors"][0]["pointer"]


class TestABody:
    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, "/name"),
            ({"name": None}, "/name"),
            ({"name": 5}, "/name"),
            ({"name": ""}, "/name"),
            ({"name": "x" * 201}, "/name"),
            ({"name": "a\0b"}, "/name"),
            ({"name": "x", "colour": "red"}, "/colour"),
            ({"name": "x", "price": "1.005"}, "/price"),
            ({"name": "x", "price": 1.005}, "/price"),
            ({"name": "x", "price": "NaN"}, "/price"),
            ({"name": "x", "price": 0}, "/price"),
            ({"name": "x", "price": 1000.01}, "/price"),
            ({"name": "x", "price": True}, "/price"),
            ({"name": "x", "weights": [1, -1]}, "/weights/1"),
            ({"name": "x", "weights": [1, "2"]}, "/weights/1"),
            ({"name": "x", "firstSeen": "2026-01-01T00:00:00"}, "/firstSeen"),
            ({"name": "x", "firstSeen": 1700000000}, "/firstSeen"),
            ({"name": "x", "firstSeen": "0001-01-01T00:00:00+23:59"}, "/firstSeen"),
            ({"name": "x", "madeOn": "2026-02-30"}, "/madeOn"),
            ({"name": "x", "madeOn": "9999-12-31"}, "/madeOn"),
        ],
    )
    async def test_at_fault_is_pointed_at(self, client: httpx2.AsyncClient, body: dict[str, Any], pointer: str):
        assert error(await client.post("/toys", json=body)) == (400, pointer)

    @pytest.mark.parametrize(
        "raw",
        [b"", b"{", b"[]", b'{"name": "\xff"}', b'{"name": "\\ud800"}', b"[" * 100_000, b'{"price": NaN}', b"nul"],
    )
    async def test_that_is_not_an_object_is_400(self, client: httpx2.AsyncClient, raw: bytes):
        response = await client.post("/toys", content=raw, headers={"Content-Type": "application/json"})
        assert response.status_code == 400

    async def test_with_a_number_of_too_many_characters_is_400_however_short_it_is(self, client: httpx2.AsyncClient):
        raw = b'{"name": "x", "price": 1.' + b"0" * 40 + b"}"
        refused = await client.post("/toys", content=raw, headers={"Content-Type": "application/json"})
        assert refused.status_code == 400
        assert "40 characters" in refused.text

    async def test_of_another_media_type_is_415(self, client: httpx2.AsyncClient):
        response = await client.post("/toys", content=b"name=x", headers={"Content-Type": "text/plain"})
        assert response.status_code == 415
        assert (await client.post("/toys", content=b'{"name": "x"}')).status_code == 415, "nor without one"

    @pytest.mark.parametrize(("coding", "status"), [("gzip", 415), ("zstd", 415), ("identity", 201)])
    async def test_that_is_compressed_is_415(self, client: httpx2.AsyncClient, coding: str, status: int):
        response = await client.post("/toys", json={"name": "x"}, headers={"Content-Encoding": coding})
        assert response.status_code == status

    async def test_that_is_too_large_is_413(self, client: httpx2.AsyncClient):
        response = await client.post("/toys", json={"name": "x" * 11_000_000})
        assert response.status_code == 413

    @pytest.mark.parametrize(("weights", "status"), [(8_000, 204), (8_200, 413)])
    async def test_that_needs_no_token_is_too_large_from_16_kib_on(
        self, client: httpx2.AsyncClient, weights: int, status: int
    ):
        response = await client.post("/wishes", json={"name": "x", "weights": [0] * weights})
        assert response.status_code == status


class TestAParameter:
    @pytest.mark.parametrize(
        ("query", "pointer"),
        [
            ("limit=0", "query:limit"),
            ("limit=1001", "query:limit"),
            ("limit=ten", "query:limit"),
            ("limit=1e2", "query:limit"),
            ("limit=%D9%A1%D9%A0", "query:limit"),  # ten, in Arabic digits
            ("limit=1&limit=2", "query:limit"),
            ("colour=red", "query:colour"),
            ("since=2026-01-01", "query:since"),
            ("since=1700000000", "query:since"),
            ("is-new=maybe", "query:is-new"),
            ("names=", "query:names"),
            ("names=a%00b", "query:names"),
            ("cursor=%21%21", "query:cursor"),
            ("cursor=bm90IGEgY3Vyc29y", "query:cursor"),
        ],
    )
    async def test_at_fault_is_named(self, client: httpx2.AsyncClient, query: str, pointer: str):
        assert error(await client.get(f"/toys?{query}")) == (400, pointer)

    async def test_in_the_path_of_the_wrong_shape_is_400(self, client: httpx2.AsyncClient):
        assert error(await client.get("/toys/not-a-uuid")) == (400, "path:toyID")

    async def test_where_none_is_taken_is_400(self, client: httpx2.AsyncClient):
        assert error(await client.get(f"/toys/{uuid.uuid4()}?x=1")) == (400, "query:x")


class TestARequest:
    async def test_with_another_method_is_405_and_says_which(self, client: httpx2.AsyncClient):
        response = await client.delete("/toys")
        assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")

    async def test_asking_for_options_learns_the_methods(self, client: httpx2.AsyncClient):
        response = await client.options("/toys")
        assert (response.status_code, response.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")

    async def test_without_a_token_is_401(self, toys: Application):
        async with client_of(toys) as nobody:
            response = await nobody.get("/toys")
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"

    async def test_without_the_permission_is_403(self, toys: Application):
        async with client_of(toys, "somebody") as client:
            assert (await client.get(f"/toys/{uuid.uuid4()}")).status_code == 403

    async def test_that_fails_tells_nothing_but_its_id(self, client: httpx2.AsyncClient):
        response = await client.get("/faults/bug")
        assert response.status_code == 500
        assert "secret" not in response.text
        assert set(response.json()) == {"type", "title", "status", "instance", "requestId"}

    async def test_that_takes_the_database_too_long_is_503(self, client: httpx2.AsyncClient):
        response = await client.get("/faults/timeout")
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")

    async def test_is_tried_again_where_the_database_asks_for_it(self, toys: Application, client: httpx2.AsyncClient):
        assert (await client.post("/conflicts")).json() == {"attempts": 3}
        assert len((await client.get("/toys")).json()) == 1


class TestAnAnswer:
    @pytest.mark.parametrize(
        ("accept", "chosen"),
        [
            ("*/*", "application/json"),
            ("text/csv", "text/csv"),
            ("text/*;q=0.5, application/json;q=0.4", "text/csv"),
            ("text/csv;q=0, */*", "application/json"),
            ("text/csv;q=high, application/json;q=0.1", "application/json"),
        ],
    )
    async def test_has_the_preferred_media_type(self, client: httpx2.AsyncClient, accept: str, chosen: str):
        response = await client.get(f"/toys/{uuid.uuid4()}", headers={"Accept": accept})
        assert response.json()["as"] == chosen

    async def test_that_the_client_does_not_accept_is_406(self, client: httpx2.AsyncClient):
        response = await client.get(f"/toys/{uuid.uuid4()}", headers={"Accept": "image/png"})
        assert response.status_code == 406

    @pytest.mark.parametrize(("accepted", "used"), [("gzip", "gzip"), ("gzip, zstd", "zstd"), ("identity", None)])
    async def test_is_compressed_when_large(self, client: httpx2.AsyncClient, accepted: str, used: str | None):
        response = await client.get("/faults/large", headers={"Accept-Encoding": accepted})
        assert response.headers.get("content-encoding") == used
        body = zstandard.decompress(response.content) if used == "zstd" else response.content
        assert body == b"x" * 100_000

    async def test_to_a_change_honours_if_match(self, client: PersonClient):
        path, body = f"/toys/{uuid.uuid4()}", {"name": "x"}
        assert (await client.get(path)).headers["etag"] == '"v1"'
        assert (await client.change(path, json=body, headers={"If-Match": '"v0"'})).status_code == 412
        assert (await client.change(path, json=body, headers={"If-Match": '"v0", "v1"'})).headers["etag"] == '"v2"'
        assert (await client.change(path, json=body, headers={"If-Match": "*"})).status_code == 200

    async def test_to_a_condition_on_what_has_no_etag_is_412_and_nothing_happens(self, client: httpx2.AsyncClient):
        # What is made anew has no version yet: of a POST the condition says nothing.
        toy = (await client.post("/toys", json={"name": "kept"}, headers={"If-Match": '"v1"'})).json()
        path = f"/toys/{toy['id']}"
        assert (await client.delete(path, headers={"If-Match": '"v1"'})).status_code == 412
        assert toy["id"] in [kept["id"] for kept in (await client.get("/toys", params={"limit": 1000})).json()]
        assert (await client.delete(path, headers={"If-Match": "*"})).status_code == 204
        assert toy["id"] not in [kept["id"] for kept in (await client.get("/toys", params={"limit": 1000})).json()]

    async def test_may_be_a_stream_of_events(self, client: httpx2.AsyncClient):
        response = await client.get("/ticks")
        assert response.headers["content-type"] == "text/event-stream"
        assert response.text.count("data:") == 3


class TestPages:
    async def test_show_every_item_once_while_items_are_added(self, client: httpx2.AsyncClient):
        for number in range(25):
            await client.post("/toys", json={"name": f"n{number}"})
        seen: list[str] = []
        path = "/toys?limit=10"
        while path:
            response = await client.get(path)
            seen += [toy["id"] for toy in response.json()]
            path = response.links["next"]["url"] if "next" in response.links else ""
        assert len(seen) == len(set(seen)) == 25


class TestARepeatedPost:
    async def test_answers_what_the_first_answered(self, client: httpx2.AsyncClient):
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        first = await client.post("/toys", json={"name": "x"}, headers=headers)
        second = await client.post("/toys", json={"name": "x"}, headers=headers)
        assert second.content == first.content
        assert second.status_code == 201
        assert second.headers["idempotency-replayed"] == "true"
        assert "idempotency-replayed" not in first.headers
        assert len((await client.get("/toys")).json()) == 1

    async def test_is_known_for_a_day(self, toys: Application, client: httpx2.AsyncClient):
        key = uuid.uuid4().hex
        digest = hashlib.sha256(f"makeToy\0{key}".encode()).digest()
        answers = []
        for age in ("0 s", "86340 s", "86460 s"):
            await toys.pool.execute(
                "update idempotency set created_at = clock_timestamp() - $2::text::interval where key_digest = $1",
                digest,
                age,
            )
            await delete_expired(toys.pool)
            answer = await client.post("/toys", json={"name": "x"}, headers={"Idempotency-Key": key})
            answers.append(answer.json()["id"])
        assert answers[0] == answers[1] != answers[2]

    async def test_with_another_body_is_422(self, client: httpx2.AsyncClient):
        headers = {"Idempotency-Key": "k"}
        await client.post("/toys", json={"name": "x"}, headers=headers)
        assert (await client.post("/toys", json={"name": "y"}, headers=headers)).status_code == 422

    async def test_while_the_first_is_running_is_409(self, toys: Application, client: httpx2.AsyncClient):
        send: dict[str, Any] = {"json": {"name": "held up"}, "headers": {"Idempotency-Key": uuid.uuid4().hex}}
        async with toys.pool.acquire() as holder, holder.transaction():
            await holder.execute("select pg_advisory_xact_lock(hashtext('toys that are held up'))")
            first = asyncio.create_task(client.post("/toys", **send))
            waits = """select exists (select from pg_locks l join pg_database d on d.oid = l.database
                                      where d.datname = current_database() and not l.granted)"""
            while not await toys.pool.fetchval(waits):
                await asyncio.sleep(0.01)
            assert (await client.post("/toys", **send)).status_code == 409
        assert (await first).status_code == 201

    async def test_racing_on_two_replicas_has_one_effect(self, database_url: str, client: httpx2.AsyncClient):
        key, token = uuid.uuid4().hex, client.headers["authorization"].removeprefix("Bearer ")
        async with running_edge(toy_service(database_url)) as other, client_of(other, token) as elsewhere:
            answers = await asyncio.gather(
                *(
                    who.post("/toys", json={"name": "x"}, headers={"Idempotency-Key": key})
                    for who in (client, elsewhere) * 8
                )
            )
        assert {answer.status_code for answer in answers} <= {201, 409}
        assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
        assert len((await client.get("/toys")).json()) == 1

    async def test_keys_are_per_caller(self, toys: Application, client: httpx2.AsyncClient):
        headers = {"Idempotency-Key": "same"}
        await client.post("/toys", json={"name": "x"}, headers=headers)
        async with client_of(toys, uuid.uuid4().hex) as other:
            assert (await other.post("/toys", json={"name": "y"}, headers=headers)).status_code == 201

    async def test_keys_are_per_operation(self, client: httpx2.AsyncClient):
        """A caller that numbers its requests anew in each script means another request by the same key."""
        headers = {"Idempotency-Key": "first of the day"}
        toy = await client.post("/toys", json={"name": "x"}, headers=headers)
        secret = await client.post("/secrets", headers=headers)
        assert (toy.status_code, secret.status_code) == (201, 201)
        assert "idempotency-replayed" not in secret.headers
        assert (await client.post("/toys", json={"name": "x"}, headers=headers)).content == toy.content

    async def test_used_again_after_a_day_is_good_for_another(self, toys: Application, client: httpx2.AsyncClient):
        send: dict[str, Any] = {"json": {"name": "x"}, "headers": {"Idempotency-Key": uuid.uuid4().hex}}
        first = await client.post("/toys", **send)
        await toys.pool.execute("update idempotency set created_at = created_at - interval '25 hours'")
        second, repeated = await client.post("/toys", **send), await client.post("/toys", **send)
        assert first.json()["id"] != second.json()["id"] == repeated.json()["id"]

    @pytest.mark.parametrize("key", ["", "k" * 256])
    async def test_needs_a_key_of_a_fair_length(self, client: httpx2.AsyncClient, key: str):
        response = await client.post("/toys", json={"name": "x"}, headers={"Idempotency-Key": key})
        assert error(response) == (400, "header:Idempotency-Key")
        longest = await client.post("/toys", json={"name": "x"}, headers={"Idempotency-Key": "k" * 255})
        assert longest.status_code == 201

    async def test_shows_a_secret_again_but_keeps_it_sealed(self, toys: Application, client: httpx2.AsyncClient):
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        first, second = [await client.post("/secrets", headers=headers) for _ in range(2)]
        assert first.json() == second.json()
        kept = await toys.pool.fetch("select body from idempotency order by created_at desc limit 5")
        assert all(first.json()["secret"].encode() not in row["body"] for row in kept)


class TestARateLimit:
    async def test_is_one_for_the_workers_of_a_replica_and_never_exceeded(self, database_url: str):
        replica = uuid.uuid4().hex
        async with (
            running_edge(toy_service(database_url, limit=1, burst=60, replica=replica)) as one,
            running_edge(toy_service(database_url, limit=1, burst=60, replica=replica)) as other,
        ):
            token = uuid.uuid4().hex
            async with client_of(one, token) as first, client_of(other, token) as second:
                answers = [await who.get("/toys") for _ in range(70) for who in (first, second)]
        allowed = [answer for answer in answers if answer.status_code == 200]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert 60 <= len(allowed) <= 61, "one a minute comes back"
        assert len(allowed) + len(refused) == 140
        assert int(refused[-1].headers["retry-after"]) >= 1
        assert refused[-1].json()["type"].endswith("/share-exceeded")
        assert refused[-1].json()["share"] == "requests"

    async def test_is_one_of_the_shares_that_an_organisation_can_read(self, toys: Application):
        assert Share.REQUESTS in toys.shares.meters

    async def test_holds_for_everyone_but_probes(self, client: httpx2.AsyncClient):
        assert (await client.get("/ticks")).headers["ratelimit-policy"].startswith('"public";q=1000')
        assert "ratelimit-policy" not in (await client.get("/naps/0")).headers


class TestACallerWithoutAToken:
    async def test_is_counted_by_its_network(self, database_url: str):
        async with running_edge(toy_service(database_url)) as edge:
            lefts = []
            for host in ("2001:db8:7:7::1", "2001:db8:7:7:ffff::2", "2001:db8:7:8::1"):
                async with client_of(edge, address=host) as client:
                    answer = await client.get("/faults/large")
                    lefts.append(answer.headers["ratelimit"].split(";")[1])
        assert lefts == ["r=999", "r=998", "r=999"]

    async def test_is_counted_by_its_own_behind_a_trusted_proxy(self, database_url: str):
        proxies = TrustedProxies([parse_network("10.0.0.0/8")])
        async with (
            running_edge(toy_service(database_url, proxies=proxies)) as edge,
            client_of(edge, address="10.0.0.1") as proxy,
        ):
            lefts = []
            for host in ("192.0.2.181", "192.0.2.181", "192.0.2.182"):
                answer = await proxy.get("/faults/large", headers={"X-Forwarded-For": host})
                lefts.append(answer.headers["ratelimit"].split(";")[1])
        assert lefts == ["r=999", "r=998", "r=999"]
