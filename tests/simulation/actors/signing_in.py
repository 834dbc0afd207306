"""People at the door: signing in and out, passwords, sessions, roles; few, since every password is slow to hash."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.simulation.actors.acting import action
from tests.simulation.actors.organisations import ANONYMOUS, PASSWORD
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.model import Member, Organisation, World
from tests.simulation.steps import Pick

SELDOM = 3


def _pick_member(world: World, pick: Pick) -> tuple[Organisation, Member] | None:
    found = [(one, member) for one in world.owners + world.traders for member in one.members]
    return pick.of(found) if found else None


@action(weight=2)
def sign_in(world: World, pick: Pick) -> Request | None:
    """With the right password, a wrong one, or as a user there is none of."""
    found = _pick_member(world, pick)
    if found is None:
        return None
    organisation, member = found
    kind = pick.below(4)
    body = {"username": member.username, "password": member.password}
    if kind == 1:
        body["password"] = "wrong-harbour-spindle"
    elif kind == 2:
        body["username"] = f"missing{world.number()}@example.org"

    def remember(answer: Answer) -> None:
        said = answer.body
        member.person = Person(f"{organisation.name}_member", organisation.name, member.role, said["access_token"])
        member.refresh_token = said["refresh_token"]

    expect: Any = (401, 429) if kind in (1, 2) else (200, 429)
    path = "/auth/public/authenticate"
    return Request("authenticate", ANONYMOUS, "POST", path, body, expect=expect, on_success=remember)


def _signed_in(world: World, pick: Pick) -> tuple[Member, Person] | None:
    found = [
        (member, member.person)
        for one in world.owners + world.traders
        for member in one.members
        if member.person is not None
    ]
    return pick.of(found) if found else None


@action(weight=1)
def renew_tokens(world: World, pick: Pick) -> Request | None:
    """A refresh token works once; used again, the whole family is gone."""
    found = _signed_in(world, pick)
    if found is None:
        return None
    member, person = found
    was_spent = pick.chance(40) and member.spent_token is not None
    token = member.spent_token if was_spent else member.refresh_token

    def remember(answer: Answer) -> None:
        said = answer.body
        member.spent_token, member.refresh_token = token, said["refresh_token"]
        member.person = replace(person, token=said["access_token"])

    def forget(_: Answer) -> None:
        member.person = None

    body = {"refresh_token": token}
    return Request(
        "refreshTokens",
        ANONYMOUS,
        "POST",
        "/auth/public/refresh",
        body,
        expect=(401, "refresh-refused") if was_spent else 200,
        on_success=remember,
        on_refusal=forget,
    )


@action(weight=1)
def look_at_sessions(world: World, pick: Pick) -> Request | None:
    found = _signed_in(world, pick)
    if found is None:
        return None
    member, person = found
    if member.role == "VIEWER" and pick.chance(50):
        return Request("readMe", person, "GET", "/auth/me", expect=200)

    def check(answer: Answer) -> None:
        assert sum(one["current"] for one in answer.body) == 1, "one session that is the caller's own"

    return Request("listSessions", person, "GET", "/auth/sessions", expect=200, check=check)


@action(weight=1)
def sign_out(world: World, pick: Pick) -> Request | None:
    """The session's tokens stop working at once."""
    found = _signed_in(world, pick)
    if found is None:
        return None
    member, person = found
    kind = pick.below(3)
    if kind == 0:
        return Request("endOtherSessions", person, "DELETE", "/auth/sessions", expect=204)
    if kind == 1 and member.gone is not None:
        return Request("readMe", member.gone, "GET", "/auth/me", expect=401)

    def remember(_: Answer) -> None:
        member.person, member.gone, member.spent_token = None, person, None

    return Request("logout", person, "POST", "/auth/logout", expect=204, on_success=remember)


@action(weight=1)
def change_password(world: World, pick: Pick) -> Request | None:
    found = _signed_in(world, pick)
    if found is None or pick.below(SELDOM):
        return None
    member, person = found
    new = f"{PASSWORD}-{world.number()}"

    def remember(_: Answer) -> None:
        member.password = new

    body = {"currentPassword": member.password, "newPassword": new}
    return Request("updatePassword", person, "POST", "/auth/password", body, expect=204, on_success=remember)


@action(weight=1)
def change_role(world: World, pick: Pick) -> Request | None:
    found = _pick_member(world, pick)
    if found is None:
        return None
    organisation, member = found
    path = f"/organisations/{organisation.id}/members/{member.id}"
    if pick.chance(30):

        def forget(_: Answer) -> None:
            organisation.members.remove(member)

        return Request("deleteMember", organisation.admin, "DELETE", path, expect=204, on_success=forget)
    role = pick.one_of("TRADER", "ENGINEER", "VIEWER")

    def remember(_: Answer) -> None:
        member.role = role
        member.person = None if member.person is None else replace(member.person, role=role)

    return Request("updateMember", organisation.admin, "PATCH", path, {"role": role}, expect=200, on_success=remember)


@action(weight=1)
def look_around(world: World, pick: Pick) -> Request | None:
    kind, one = pick.below(3), pick.of(world.owners + world.traders)
    if kind == 0:
        return Request("readKeySet", ANONYMOUS, "GET", "/auth/public/jwks", expect=200)
    if kind == 1:
        path = f"/organisations/{one.id}/api-keys"

        def check(answer: Answer) -> None:
            assert {key["id"] for key in answer.body} >= set(one.keys), "every member's keys"

        return Request("listOrganisationApiKeys", one.admin, "GET", path, expect=200, check=check)
    return Request("readSimulator", one.viewer, "GET", "/sandbox/simulator", expect=200)
