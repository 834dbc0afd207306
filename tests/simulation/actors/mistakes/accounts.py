"""Mistakes around accounts: API keys, invitations, passwords, members."""

from __future__ import annotations

from typing import Any

from tests.simulation.actors.mistakes.making import UNKNOWN, mistake
from tests.simulation.actors.organisations import ANONYMOUS, PASSWORD
from tests.simulation.calls import Request
from tests.simulation.model import World
from tests.simulation.steps import Pick


def _key(world: World, pick: Pick, **more: Any) -> Request:
    body = {"name": f"Key {world.number()}", "permissions": ["Read:physical-assets"], **more}
    return Request("createApiKey", pick.of(world.traders).admin, "POST", "/auth/api-keys", body)


@mistake(422, "expiry-passed")
def make_expired_key(world: World, pick: Pick) -> Request | None:
    return _key(world, pick, expiresAt="2020-01-01T00:00:00Z")


@mistake(422, "key-lives-too-long")
def make_eternal_key(world: World, pick: Pick) -> Request | None:
    return _key(world, pick, expiresAt="2050-01-01T00:00:00Z")


@mistake(422, "unknown-key-assets")
def make_key_for_unknown_assets(world: World, pick: Pick) -> Request | None:
    return _key(world, pick, physicalAssetIDs=[UNKNOWN])


@mistake(403, "reauthentication-required")
def make_key_long_after_signing_in(world: World, pick: Pick) -> Request | None:
    body = {"name": f"Key {world.number()}", "permissions": ["Read:physical-assets"]}
    return Request("createApiKey", world.operator.cast["STALE"], "POST", "/auth/api-keys", body)


@mistake(403, "person-needed")
def make_key_with_key(world: World, pick: Pick) -> Request | None:
    keys = [key for one in world.owners + world.traders for key in one.keys.values()]
    if not keys:
        return None
    body = {"name": "Key of a key", "permissions": ["Read:physical-assets"]}
    return Request("createApiKey", pick.of(keys), "POST", "/auth/api-keys", body)


@mistake(403, "network-not-allowed")
def use_key_from_elsewhere(world: World, pick: Pick) -> Request | None:
    keys = [key for one in world.owners + world.traders for key in one.far_keys.values()]
    return None if not keys else Request("listPhysicalAssets", pick.of(keys), "GET", "/physical-assets")


@mistake(409, "last-administrator")
def remove_last_administrator(world: World, pick: Pick) -> Request | None:
    guests = [one for one in world.guests if one.user is not None]
    if not guests:
        return None
    guest = pick.of(guests)
    path = f"/organisations/{guest.id}/members/{guest.user}"
    return Request("deleteMember", world.operator.admin, "DELETE", path)


def _accept(world: World, pick: Pick, **more: str) -> Request | None:
    waiting = [token for one in world.owners + world.traders for token, _ in one.invitations.values()]
    if not waiting:
        return None
    name = f"member{world.number()}@example.org"
    body = {"token": pick.of(waiting), "username": name, "password": PASSWORD, "displayName": "Member", **more}
    return Request("acceptInvitation", ANONYMOUS, "POST", "/auth/public/invitations/accept", body)


@mistake(422, "password-refused")
def choose_weak_password(world: World, pick: Pick) -> Request | None:
    return _accept(world, pick, password="password1234")


@mistake(422, "username-refused")
def choose_strange_name(world: World, pick: Pick) -> Request | None:
    return _accept(world, pick, username="ad\u200bmin")


@mistake(409, "username-taken")
def choose_taken_name(world: World, pick: Pick) -> Request | None:
    return _accept(world, pick, username="Operator")


@mistake(409, "invitation-accepted")
def revoke_accepted(world: World, pick: Pick) -> Request | None:
    found = [(one, accepted) for one in world.owners + world.traders for accepted in one.accepted]
    if not found:
        return None
    one, accepted = pick.of(found)
    return Request("revokeInvitation", one.admin, "DELETE", f"/organisations/{one.id}/invitations/{accepted}")


@mistake(422, "wrong-current-password")
def mistype_password(world: World, pick: Pick) -> Request | None:
    people = [one.person for one in world.guests if one.person is not None]
    if not people:
        return None
    body = {"currentPassword": "not-the-one-it-is", "newPassword": f"{PASSWORD}-{world.number()}"}
    return Request("updatePassword", pick.of(people), "POST", "/auth/password", body)
