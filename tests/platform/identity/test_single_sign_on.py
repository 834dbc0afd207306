"""Single sign-on against a real OpenID Connect provider, started by these tests; over HTTP on the real database."""

import asyncio
import base64
import hashlib
import re
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from tests.conftest import running
from tests.people import PASSWORD, People, client_of, wait_for_status
from tests.platform.identity.openid_provider import ADA, browser_outside, running_provider, tell

from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.single_sign_on.model import role_in

BASE = "http://gridloom.test"
CALLBACK = f"{BASE}/auth/public/sso/callback"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    with running_provider(tmp_path_factory.mktemp("oidc"), CALLBACK) as address:
        yield address


@pytest.fixture(scope="module")
async def service(settings):
    async with running(replace(settings, base_url=BASE, sandbox_base_url=BASE)) as edge:
        yield edge


@pytest.fixture
async def organisation(service):
    async with People(service) as people:
        yield await people.new_organisation()


async def set_up(organisation, issuer, **more):
    body = {"issuer": issuer, "clientID": "gridloom", "clientSecret": "secret of the client"}
    answer = await organisation.admin.put(
        f"/organisations/{organisation.id}/identity-provider", json={**body, "domains": ["example.org"], **more}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


async def invite(organisation, email, role="TRADER"):
    path = f"/organisations/{organisation.id}/invitations"
    made = await organisation.admin.post(path, json={"email": email, "role": role})
    assert made.status_code == 201
    return made.json()


async def sign_in(service, organisation, *, browser=None, state=None, more="", instead=None, meanwhile=None, **query):
    """As a browser does: to the provider and back, with its cookies; the service's last answer. `meanwhile` is awaited
    while the person is at the provider."""
    async with client_of(service) as client, browser_outside() as outside:
        start = await client.get("/auth/public/sso/start", params={"organisation": str(organisation.id), **query})
        if start.status_code != 302:
            return start
        address = start.headers["location"]
        while not address.startswith(CALLBACK):
            answer = await outside.get(address)
            assert answer.status_code in (302, 303), answer.text
            address = urljoin(address, answer.headers["location"])
        if state is not None:
            address = re.sub(r"state=[^&]+", f"state={state}", address)
        if instead is not None:
            address = re.sub(instead[0], instead[1], address)
        address += more
        if browser is not None:
            client.cookies.clear()
            client.cookies.set("gridloom_sso", browser)
        if meanwhile is not None:
            await meanwhile
        return await client.get(address.removeprefix(BASE))


async def read_user(service, answer):
    """Whom the console's cookie of an answer stands for; None once that session has ended."""
    cookie = answer.headers["set-cookie"].partition(";")[0]
    async with client_of(service) as client:
        session = await client.get("/console/session", headers={"Cookie": cookie})
    return session.json().get("user") if session.status_code == 200 else None


async def require_user(service, answer):
    """Whom the console's cookie of an answer stands for."""
    assert answer.status_code == 200, answer.text
    user = await read_user(service, answer)
    assert user is not None
    return user


class TestAFirstSignIn:
    async def test_accepts_a_pending_invitation_and_opens_the_console(self, service, organisation, issuer):
        await set_up(organisation, issuer)
        for role in ("VIEWER", "TRADER"):  # the later one counts
            await invite(organisation, "Ada@example.org", role)
        revoked = await invite(organisation, "Grace@example.org", "ENGINEER")
        path = f"/organisations/{organisation.id}/invitations/{revoked['id']}"
        assert (await organisation.admin.delete(path)).status_code == 204
        await tell(issuer, ADA)
        answer = await sign_in(service, organisation, redirect="/console/auctions")
        assert 'url=/console/auctions#signed-in"' in answer.text
        assert "SameSite=Strict" in answer.headers["set-cookie"]
        me = await require_user(service, answer)
        assert (me["role"], me["displayName"], me["organisationID"]) == ("TRADER", "Ada Lovelace", str(organisation.id))
        again = await require_user(service, await sign_in(service, organisation))
        assert again["id"] == me["id"]

    async def test_comes_from_a_network_that_the_organisation_allows(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        allow = "update organisation set allowed_networks = $2::cidr[] where id = $1"
        for networks, status in ((["203.0.113.0/24"], 403), (["203.0.113.0/24", "10.0.0.0/8"], 200)):
            await service.pool.execute(allow, organisation.id, networks)
            answer = await sign_in(service, organisation)
            assert answer.status_code == status, answer.text

    async def test_ends_at_the_provider_where_it_began(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        moved = set_up(organisation, "http://127.0.0.1:9", defaultRole="VIEWER")
        assert (await sign_in(service, organisation, meanwhile=moved)).status_code == 403
        path = {"action": "finishSingleSignOn"}
        refused = (await organisation.admin.get("/audit-log", params=path)).json()[0]
        assert refused["details"]["reason"] == "the identity provider was changed meanwhile"

    async def test_binds_the_subject_for_good(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        ada = await require_user(service, await sign_in(service, organisation))
        await tell(issuer, {**ADA, "email": "eve@example.org"})
        assert (await require_user(service, await sign_in(service, organisation)))["id"] == ada["id"]
        await tell(issuer, {**ADA, "sub": "eve-2"})
        refused = await sign_in(service, organisation)
        assert refused.status_code == 403, "the member has another subject"

    async def test_of_two_at_once_makes_one_member(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        answers = await asyncio.gather(*(sign_in(service, organisation) for _ in range(3)))
        assert len({(await require_user(service, answer))["id"] for answer in answers}) == 1

    @pytest.mark.parametrize(
        ("person", "reason"),
        [
            ({**ADA, "email_verified": False}, "verified"),
            ({**ADA, "email_verified": "false"}, "verified"),
            ({**ADA, "email": "ada@elsewhere.example"}, "domain"),
            ({**ADA, "email": "ada@sub.example.org"}, "domain"),
            ({"sub": "ada-1"}, "verified"),
        ],
    )
    async def test_joins_no_account_by_an_address_that_is_not_vouched_for(
        self, service, organisation, issuer, person, reason
    ):
        await service.pool.execute(
            "update member set email = $2 where id = $1", organisation.people[Role.ADMIN].id, person.get("email")
        )
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, person)
        refused = await sign_in(service, organisation)
        assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[1]) == (403, "single-sign-on-refused")
        (entry, *_) = (await organisation.admin.get("/audit-log?action=finishSingleSignOn")).json()
        assert reason in entry["details"]["reason"]

    async def test_never_joins_a_member_of_another_organisation(self, service, organisation, issuer):
        async with People(service) as people:
            other = await people.new_organisation()
            await service.pool.execute(
                "update member set email = 'ada@example.org' where id = $1", other.people[Role.ADMIN].id
            )
        await set_up(organisation, issuer)
        await tell(issuer, ADA)
        assert (await sign_in(service, organisation)).status_code == 403


class TestAToken:
    @pytest.mark.parametrize(
        "error", ["issuer", "audience", "nonce", "expired", "unsigned", "symmetric", "key", "subject"]
    )
    async def test_is_not_believed_with_a_fault(self, service, organisation, issuer, error):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA, error)
        refused = await sign_in(service, organisation)
        assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[1]) == (403, "single-sign-on-refused")
        assert "set-cookie" not in refused.headers
        await tell(issuer, ADA)
        assert (await sign_in(service, organisation)).status_code == 200

    async def test_comes_back_only_with_its_state_to_its_browser_once(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        assert (await sign_in(service, organisation, state="forged")).status_code == 403
        assert (await sign_in(service, organisation, browser="another")).status_code == 403
        assert (await sign_in(service, organisation, browser="")).status_code == 403


class TestRoles:
    async def test_follow_the_claim_and_leave_the_last_admin(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER", roleClaim="roles")
        await tell(issuer, {**ADA, "roles": ["staff", "trader"]})
        assert (await require_user(service, await sign_in(service, organisation)))["role"] == "TRADER"
        await tell(issuer, {**ADA, "roles": ["engineer"]})
        assert (await require_user(service, await sign_in(service, organisation)))["role"] == "ENGINEER"
        admin = organisation.people[Role.ADMIN]
        await service.pool.execute("update member set email = 'root@example.org' where id = $1", admin.id)
        await tell(issuer, {**ADA, "sub": "root-1", "email": "root@example.org", "roles": ["viewer"]})
        assert (await require_user(service, await sign_in(service, organisation)))["role"] == "ADMIN"

    def test_are_the_highest_that_a_claim_names(self):
        assert role_in({"roles": ["viewer", "ADMIN"]}, "roles") is Role.ADMIN
        assert role_in({"roles": "trader"}, "roles") is Role.TRADER
        for claims in ({}, {"roles": 7}, {"roles": [None, "king"]}, {"roles": {"admin": True}}):
            assert role_in(claims, "roles") is None


class TestACallback:
    async def test_of_another_issuer_is_refused(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        refused = await sign_in(service, organisation, instead=("iss=[^&]+", "iss=https%3A%2F%2Felsewhere.example"))
        assert refused.status_code == 403

    async def test_with_an_error_is_refused_with_its_description_in_the_audit_log(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        error = "error=access_denied&error_description=The%20person%20declined"
        refused = await sign_in(service, organisation, instead=("code=[^&]+", error))
        assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[1]) == (403, "single-sign-on-refused")
        assert "set-cookie" not in refused.headers
        (entry, *_) = (await organisation.admin.get("/audit-log?action=finishSingleSignOn")).json()
        assert "access_denied" in str(entry["details"])


class TestARoleThatChangesMeanwhile:
    async def test_is_the_claims_where_claims_decide(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER", roleClaim="roles")
        await tell(issuer, {**ADA, "roles": ["engineer"]})
        ada = await require_user(service, await sign_in(service, organisation))
        path = f"/organisations/{organisation.id}/members/{ada['id']}"
        await asyncio.gather(sign_in(service, organisation), organisation.admin.change(path, json={"role": "TRADER"}))
        members = (await organisation.admin.get(f"/organisations/{organisation.id}/members")).json()
        assert {one["id"]: one["role"] for one in members}[ada["id"]] in ("TRADER", "ENGINEER")
        assert (await require_user(service, await sign_in(service, organisation)))["role"] == "ENGINEER"


class TestTheCommandLine:
    verifier = "v" * 43

    def challenge(self, verifier):
        return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()

    async def code(self, service, organisation):
        answer = await sign_in(
            service,
            organisation,
            redirect="http://127.0.0.1:5555/done",
            **{"code-challenge": self.challenge(self.verifier)},
        )
        assert answer.status_code == 200, answer.text
        (target,) = re.findall(r'url=([^"]+)"', answer.text)
        assert target.startswith("http://127.0.0.1:5555/done?code=")
        assert "set-cookie" not in answer.headers
        return parse_qs(urlsplit(target).query)["code"][0]

    async def test_spends_a_code_once_with_its_verifier(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        async with client_of(service) as client:

            async def spend(code, verifier):
                return await client.post("/auth/public/sso/token", json={"code": code, "verifier": verifier})

            code = await self.code(service, organisation)
            tokens = await spend(code, self.verifier)
            assert tokens.status_code == 200, tokens.text
            assert (await spend(code, self.verifier)).status_code == 403
            assert (await spend(await self.code(service, organisation), "w" * 43)).status_code == 403
        async with client_of(service, tokens.json()["access_token"]) as ada:
            assert (await ada.get("/auth/me")).json()["displayName"] == "Ada Lovelace"

    @pytest.mark.parametrize(
        ("redirect", "challenge"),
        [
            ("http://127.0.0.1.evil.example/", "c" * 43),
            ("http://127.0.0.1@evil.example/", "c" * 43),
            ("https://evil.example/", "c" * 43),
            ("http://localhost:1/", "c" * 43),
            ("http://127.0.0.1:1/", "short"),
            ("https://evil.example/", None),
            ("//evil.example/", None),
            ("/console//evil.example", None),
            ("/elsewhere", None),
        ],
    )
    async def test_is_led_nowhere_else(self, service, organisation, issuer, redirect, challenge):
        await set_up(organisation, issuer)
        query = {"redirect": redirect} | ({"code-challenge": challenge} if challenge else {})
        assert (await sign_in(service, organisation, **query)).status_code == 400


class TestAProvider:
    async def test_that_is_missing_is_answered_as_an_unknown_organisation(self, service, organisation):
        async with client_of(service) as client:
            answers = [
                await client.get("/auth/public/sso/start", params={"organisation": name})
                for name in (str(organisation.id), "00000000-0000-0000-0000-000000000000", "Nobody & Sons")
            ]
        bodies = [{k: v for k, v in one.json().items() if k != "requestId"} for one in answers]
        assert [one.status_code for one in answers] == [404, 404, 404]
        assert bodies[0] == bodies[1] == bodies[2]

    async def test_that_is_down_is_said_so(self, service, organisation):
        await set_up(organisation, "http://127.0.0.1:9")
        answer = await sign_in(service, organisation)
        assert (answer.status_code, answer.json()["type"].rsplit("/", 1)[1]) == (503, "provider-unreachable")

    async def test_that_redirects_is_not_followed(self, service, organisation, issuer):
        async with redirecting_to(f"{issuer}/.well-known/openid-configuration") as address:
            await set_up(organisation, address)
            assert (await sign_in(service, organisation)).status_code == 503

    @pytest.mark.parametrize(
        "address",
        ["http://10.0.0.1", "http://169.254.169.254", "http://[::ffff:10.0.0.1]", "ftp://example.org", "nonsense"],
    )
    async def test_is_not_in_a_private_network(self, organisation, address):
        body = {"issuer": address, "clientID": "x", "clientSecret": "x", "domains": ["example.org"]}
        path = f"/organisations/{organisation.id}/identity-provider"
        assert (await organisation.admin.put(path, json=body)).status_code == 422

    async def test_has_another_etag_after_it_was_deleted_and_set_again(self, organisation, issuer):
        path, etags = f"/organisations/{organisation.id}/identity-provider", []
        for _ in range(2):
            await set_up(organisation, issuer)
            etags.append((await organisation.admin.get(path)).headers["etag"])
            changed = {"issuer": issuer, "clientID": "gridloom", "domains": ["b.example"]}
            late = await organisation.admin.put(path, json=changed, headers={"If-Match": '"an earlier one"'})
            assert (late.status_code, (await organisation.admin.get(path)).headers["etag"]) == (412, etags[-1])
            in_time = await organisation.admin.put(path, json=changed, headers={"If-Match": etags[-1]})
            assert in_time.status_code == 200, in_time.text
            etags[-1] = in_time.headers["etag"]
            assert (await organisation.admin.delete(path, headers={"If-Match": etags[-1]})).status_code == 204
        assert etags[0] != etags[1]

    async def test_shows_no_secret_and_keeps_it_when_left_out(self, service, organisation, issuer):
        shown = await set_up(organisation, issuer)
        assert "secret" not in str(shown).lower()
        path = f"/organisations/{organisation.id}/identity-provider"
        assert (await organisation.admin.get(path)).json() == shown
        body = {"issuer": issuer, "clientID": "gridloom", "domains": ["example.org"], "defaultRole": "VIEWER"}
        assert (await organisation.admin.put(path, json=body)).status_code == 200
        await tell(issuer, ADA)
        assert (await sign_in(service, organisation)).status_code == 200
        for other in ({"issuer": "http://127.0.0.1:9"}, {"clientID": "another"}):
            moved = await organisation.admin.put(path, json=body | other)
            assert moved.status_code == 400, "a secret is of one issuer and one client"
        assert (await organisation.trader.get(path)).status_code == 403
        assert (await organisation.admin.delete(path)).status_code == 204
        assert (await organisation.admin.get(path)).status_code == 404

    async def test_that_is_required_ends_passwords_for_all_but_admins(self, service, organisation, issuer):
        await set_up(organisation, issuer, defaultRole="VIEWER")
        await tell(issuer, ADA)
        signed_on = await sign_in(service, organisation)
        assert (await organisation.trader.get("/auth/me")).status_code == 200, "while it is one way of two"
        await set_up(organisation, issuer, required=True)
        await wait_for_status(organisation.trader, 401)
        assert (await organisation.admin.get("/auth/me")).status_code == 200
        assert (await require_user(service, signed_on))["displayName"] == "Ada Lovelace", "who came without one stays"
        async with client_of(service) as client:
            for role, status in ((Role.TRADER, 403), (Role.ADMIN, 200)):
                body = {"username": organisation.people[role].username, "password": PASSWORD}
                answer = await client.post("/auth/public/authenticate", json=body)
                assert answer.status_code == status, answer.text
            wrong = {"username": organisation.people[Role.TRADER].username, "password": "not it"}
            assert (await client.post("/auth/public/authenticate", json=wrong)).status_code == 401


@asynccontextmanager
async def redirecting_to(target):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
