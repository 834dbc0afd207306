"""Guests: organisations beside the cast, whose one ADMIN goes through everything that accounts offer.

Second factors, sessions, the console, single sign-on and rules of the organisation are theirs, so that nobody of the
cast is shut out by them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import struct
import time
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.simulation.actors.acting import action
from tests.simulation.actors.organisations import ANONYMOUS, PASSWORD
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.identity_provider import CLIENT
from tests.simulation.model import Guest, World
from tests.simulation.steps import Pick

MAX_GUESTS = 2
VERIFIER = "verifier-of-a-command-line-that-waits-for-its-code"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
GONE = "http://127.0.0.1:9"
"""Where no provider answers."""
WAITS_AT = "http://127.0.0.1:9/waiting"


def current_code(secret: str) -> str:
    """RFC 6238: six digits of HMAC-SHA1 over the number of half minutes since 1970."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(time.time()) // 30), "sha1").digest()
    offset = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[offset : offset + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"


def _pick_guest(world: World, pick: Pick) -> Guest | None:
    return pick.of(world.guests) if world.guests else None


def _pick_signed_in(world: World, pick: Pick) -> tuple[Guest, Person] | None:
    found = [(one, one.person) for one in world.guests if one.person is not None]
    return pick.of(found) if found else None


@action(weight=1)
def found_guest(world: World, pick: Pick) -> Request | None:
    if len(world.guests) >= MAX_GUESTS:
        return None
    name = f"guest{world.number()}"

    def remember(answer: Answer) -> None:
        world.guests.append(Guest(name, answer.body["id"], f"{name}@example.org", PASSWORD))

    body = {"name": name, "kind": "PARTICIPANT"}
    by = world.operator.admin
    return Request("createOrganisation", by, "POST", "/organisations", body, expect=201, on_success=remember)


@action(weight=1)
def admit_guest(world: World, pick: Pick) -> Request | None:
    """Invited by the operator, then as ADMIN of its own; the same token works once."""
    guest = _pick_guest(world, pick)
    if guest is None:
        return None
    if guest.invitation is None:

        def remember(answer: Answer) -> None:
            guest.invitation = answer.body["token"]

        path, body = f"/organisations/{guest.id}/invitations", {"email": guest.username, "role": "ADMIN"}
        by = world.operator.admin
        return Request("createInvitation", by, "POST", path, body, expect=201, on_success=remember)
    body = {
        "token": guest.invitation,
        "username": guest.username,
        "password": guest.password,
        "displayName": guest.name,
    }
    path = "/auth/public/invitations/accept"
    if guest.user is not None:
        expect = (409, "invitation-spent")
        return Request("acceptInvitation", ANONYMOUS, "POST", path, {**body, "username": "another"}, expect=expect)

    def enter(answer: Answer) -> None:
        guest.user = answer.body["id"]

    return Request("acceptInvitation", ANONYMOUS, "POST", path, body, expect=201, on_success=enter)


@action(weight=1)
def sign_in_guest(world: World, pick: Pick) -> Request | None:
    guest = _pick_guest(world, pick)
    if guest is None or guest.user is None:
        return None
    body = {"username": guest.username, "password": guest.password}
    has_factor = bool(guest.recovery_codes)

    def enter(answer: Answer) -> None:
        guest.person = Person(guest.name, guest.name, "ADMIN", answer.body["access_token"])

    def remember_challenge(answer: Answer) -> None:
        guest.challenge = answer.body["challenge"]

    expect: Any = (401, "second-factor-required") if has_factor else 200
    path = "/auth/public/authenticate"
    request = Request("authenticate", ANONYMOUS, "POST", path, body, expect=expect, on_success=enter)
    return replace(request, on_refusal=remember_challenge) if has_factor else request


@action(weight=1)
def give_code(world: World, pick: Pick) -> Request | None:
    """For a challenge: a recovery code, which works once, or a wrong one."""
    guest = _pick_guest(world, pick)
    if guest is None or guest.challenge is None or not guest.recovery_codes:
        return None
    path = "/auth/public/second-factor"
    if pick.chance(25):
        body = {"challenge": guest.challenge, "code": "wrong-code"}
        expect = (401, "wrong-second-factor")
        return Request("completeLogin", ANONYMOUS, "POST", path, body, expect=expect)
    if pick.chance(35):
        body = {"challenge": "an-old-one", "code": guest.recovery_codes[-1]}
        return Request("completeLogin", ANONYMOUS, "POST", path, body, expect=(401, "challenge-expired"))
    code = guest.recovery_codes[-1]

    def enter(answer: Answer) -> None:
        guest.recovery_codes.remove(code)
        guest.challenge = None
        guest.person = Person(guest.name, guest.name, "ADMIN", answer.body["access_token"])

    body = {"challenge": guest.challenge, "code": code}
    return Request("completeLogin", ANONYMOUS, "POST", path, body, expect=200, on_success=enter)


@action(weight=2)
def set_up_second_factor(world: World, pick: Pick) -> Request | None:
    found = _pick_signed_in(world, pick)
    if found is None:
        return None
    guest, person = found
    path = "/auth/totp"
    if guest.recovery_codes:
        if pick.chance(40):
            return Request("createTotp", person, "POST", path, expect=(409, "second-factor-exists"))
        return _remove_second_factor(world, pick, guest, person)
    if guest.secret is None:
        if pick.chance(20):
            expect = (409, "no-second-factor")
            return Request("confirmTotp", person, "PUT", path, {"code": "123456"}, expect=expect)

        def begin(answer: Answer) -> None:
            guest.secret = answer.body["secret"]

        return Request("createTotp", person, "POST", path, expect=200, on_success=begin)

    def confirm(answer: Answer) -> None:
        guest.recovery_codes = list(answer.body["recoveryCodes"])
        assert len(set(guest.recovery_codes)) == 10, "ten recovery codes"

    code = current_code(guest.secret)
    if pick.chance(20):
        wrong = f"{(int(code) + 500_000) % 1_000_000:06}"
        return Request("confirmTotp", person, "PUT", path, {"code": wrong}, expect=(422, "code-refused"))
    return Request("confirmTotp", person, "PUT", path, {"code": code}, expect=200, on_success=confirm)


def _remove_second_factor(world: World, pick: Pick, guest: Guest, person: Person) -> Request | None:
    """By its owner with a code, or by an ADMIN for another."""
    if guest.is_second_factor_required:
        return None

    def remove(_: Answer) -> None:
        guest.secret, guest.recovery_codes, guest.challenge = None, [], None

    if pick.chance(50):
        path = f"/organisations/{guest.id}/members/{guest.user}/second-factor"
        by = world.operator.admin
        return Request("resetSecondFactor", by, "DELETE", path, expect=204, on_success=remove)
    body = {"code": guest.recovery_codes[0]}
    return Request("deleteTotp", person, "DELETE", "/auth/totp", body, expect=204, on_success=remove)


@action(weight=1)
def set_rules(world: World, pick: Pick) -> Request | None:
    """What a guest's organisation demands of its people and keys."""
    found = _pick_signed_in(world, pick)
    if found is None:
        return None
    guest, person = found
    path, kind = f"/organisations/{guest.id}", pick.below(5)
    body: dict[str, Any] = {"maxKeyAgeDays": pick.one_of(30, 90, 365)}
    expect: Any = 200
    if kind == 1:
        body = {"allowedNetworks": pick.one_of(["10.0.0.0/8"], ["10.20.0.0/16", "192.0.2.0/24"], [])}
    elif kind == 2:
        body, expect = {"allowedNetworks": ["192.0.2.0/24"]}, (422, "would-lock-you-out")
    elif kind == 3:
        body = {"address": f"Am Speicher {world.number()}, Hamburg"}
    elif kind == 4 and guest.recovery_codes:
        body = {"requireSecondFactor": pick.chance(50)}

    def remember(answer: Answer) -> None:
        guest.is_second_factor_required = answer.body["requireSecondFactor"]
        assert all(answer.body[name] == value for name, value in body.items()), f"{body}, not {answer.body}"

    return Request("updateOrganisation", person, "PATCH", path, body, expect=expect, on_success=remember)


@action(weight=1)
def read_usage(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.organisations)

    def check(answer: Answer) -> None:
        count = len(one.keys) + len(one.far_keys)
        keys = next(share for share in answer.body["shares"] if share["share"] == "api-keys")
        assert keys["used"] == count, f"{count} API keys in use, not {keys['used']}"

    path = f"/organisations/{one.id}/usage"
    return Request("readUsage", one.viewer, "GET", path, expect=200, check=check)


@action(weight=1)
def end_a_session(world: World, pick: Pick) -> Request | None:
    """One of a guest's other ones; its own stays."""
    found = _pick_signed_in(world, pick)
    if found is None:
        return None
    guest, person = found
    if not guest.sessions:

        def remember(answer: Answer) -> None:
            guest.sessions = [one["id"] for one in answer.body if not one["current"]]

        return Request("listSessions", person, "GET", "/auth/sessions", expect=200, on_success=remember)
    session = guest.sessions[0]

    def end(_: Answer) -> None:
        guest.sessions.remove(session)

    return Request("endSession", person, "DELETE", f"/auth/sessions/{session}", expect=(204, 404), on_success=end)


@action(weight=1)
def use_console(world: World, pick: Pick) -> Request | None:
    guest = _pick_guest(world, pick)
    if guest is None or guest.user is None:
        return None
    path = "/console/session"
    if guest.cookie is None:
        if pick.chance(20):
            return Request("readConsoleSession", ANONYMOUS, "GET", path, expect=(401, "no-console-session"))
        if guest.recovery_codes or pick.below(2):
            return None

        def enter(answer: Answer) -> None:
            guest.cookie = answer.headers["set-cookie"].partition(";")[0]

        body = {"username": guest.username, "password": guest.password}
        if pick.chance(20):
            headers, expect = {"Origin": "https://elsewhere.example"}, (403, "foreign-request")
            return Request("beginConsoleSession", ANONYMOUS, "POST", path, body, headers=headers, expect=expect)
        return Request("beginConsoleSession", ANONYMOUS, "POST", path, body, expect=204, on_success=enter)
    headers = {"Cookie": guest.cookie}
    if pick.chance(60):
        return Request("readConsoleSession", ANONYMOUS, "GET", path, headers=headers, expect=(200, 401))

    def leave(_: Answer) -> None:
        guest.cookie = None

    return Request("endConsoleSession", ANONYMOUS, "DELETE", path, headers=headers, expect=(204, 401), on_success=leave)


@action(weight=2)
def choose_provider(world: World, pick: Pick) -> Request | None:
    found = _pick_signed_in(world, pick)
    if found is None:
        return None
    guest, person = found
    path, kind = f"/organisations/{guest.id}/identity-provider", pick.below(4)
    if guest.has_provider and kind == 0:
        return Request("readIdentityProvider", person, "GET", path, expect=200)
    if guest.has_provider and kind == 1:

        def remove(_: Answer) -> None:
            guest.has_provider, guest.sign_on, guest.is_sign_on_required = False, None, False

        return Request("deleteIdentityProvider", person, "DELETE", path, expect=204, on_success=remove)

    is_gone = guest.sign_on is None and pick.chance(20)

    def remember(_: Answer) -> None:
        guest.has_provider, guest.is_provider_gone, guest.is_sign_on_required = True, is_gone, False

    issuer = GONE if is_gone else world.provider.issuer
    body = {"issuer": issuer, "clientID": CLIENT, "clientSecret": "secret", "domains": ["example.org"]}
    return Request("putIdentityProvider", person, "PUT", path, body, expect=200, on_success=remember)


@action(weight=2)
def sign_on(world: World, pick: Pick) -> Request | None:
    """To the provider and back, for the console or for a command line."""
    guest = _pick_guest(world, pick)
    if guest is None or guest.user is None:
        return None
    if guest.code is not None:

        def enter(answer: Answer) -> None:
            guest.code = None
            guest.person = Person(guest.name, guest.name, "ADMIN", answer.body["access_token"])

        body = {"code": guest.code, "verifier": VERIFIER}
        path = "/auth/public/sso/token"
        return Request("exchangeSsoCode", ANONYMOUS, "POST", path, body, expect=200, on_success=enter)
    if guest.sign_on is not None:
        return _come_back(world, pick, guest, guest.sign_on)
    query = {"organisation": guest.id}
    if not guest.has_provider:
        path = "/auth/public/sso/start"
        return Request("startSingleSignOn", ANONYMOUS, "GET", path, query=query, expect=(404, "no-single-sign-on"))
    if guest.is_provider_gone:
        path, expect = "/auth/public/sso/start", (503, "provider-unreachable")
        return Request("startSingleSignOn", ANONYMOUS, "GET", path, query=query, expect=expect)
    if pick.chance(60):
        query |= {"redirect": WAITS_AT, "code-challenge": CHALLENGE}

    def remember(answer: Answer) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
        guest.sign_on = {**asked, "cookie": answer.headers["set-cookie"].partition(";")[0]}

    path = "/auth/public/sso/start"
    return Request("startSingleSignOn", ANONYMOUS, "GET", path, query=query, expect=302, on_success=remember)


def _come_back(world: World, pick: Pick, guest: Guest, begun: dict[str, str]) -> Request:
    path, headers = "/auth/public/sso/callback", {"Cookie": begun["cookie"], "Accept": "text/html"}
    if pick.chance(20):
        query = {"state": "another", "code": "code"}
        expect = (403, "single-sign-on-refused")
        return Request("finishSingleSignOn", ANONYMOUS, "GET", path, query=query, headers=headers, expect=expect)
    query = {"state": begun["state"], "code": world.provider.grant(begun["nonce"], guest.username)}

    def remember(answer: Answer) -> None:
        guest.sign_on = None
        found = re.search(r"[?&]code=([A-Za-z0-9_-]+)", answer.content.decode())
        guest.code = found[1] if found else None

    return Request(
        "finishSingleSignOn", ANONYMOUS, "GET", path, query=query, headers=headers, expect=200, on_success=remember
    )
