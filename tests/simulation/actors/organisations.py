"""Organisations, their invitations and API keys."""

from __future__ import annotations

from typing import Any

from tests.simulation.actors.acting import (
    action,
    pick_holding,
)
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.model import Member, World
from tests.simulation.steps import Pick

PASSWORD = "harbour-spindle-ochre-71"


@action(weight=1)
def read_organisations(world: World, pick: Pick) -> Request | None:
    kind, one = pick.below(6), pick.of(world.organisations)
    if kind == 0:
        return Request("listOrganisations", world.operator.admin, "GET", "/organisations", expect=200)
    if kind == 1:
        return Request("readMe", one.viewer, "GET", "/auth/me", expect=200)
    if kind == 2:
        return Request("listAuditLog", one.admin, "GET", "/audit-log", expect=200)
    if kind == 3:
        return Request("listApiKeys", one.admin, "GET", "/auth/api-keys", expect=200)
    path = f"/organisations/{one.id}"
    if kind == 4:
        return Request("listMembers", one.admin, "GET", f"{path}/members", expect=200)
    return Request("readOrganisation", one.viewer, "GET", path, expect=200)


@action(weight=1)
def rename_organisation(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    body = {"name": f"{one.name} {world.number()}"}
    return Request("updateOrganisation", one.admin, "PATCH", f"/organisations/{one.id}", body, expect=200)


@action(weight=1)
def invite(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    path = f"/organisations/{one.id}/invitations"
    if one.invitations and pick.chance(40):
        return Request("listInvitations", one.admin, "GET", path, expect=200)
    body = {"email": f"member{world.number()}@example.org", "role": pick.one_of("VIEWER", "TRADER", "ENGINEER")}

    def remember(answer: Answer) -> None:
        one.invitations[answer.body["id"]] = (answer.body["token"], body["role"])

    return Request("createInvitation", one.admin, "POST", path, body, expect=201, on_success=remember)


@action(weight=1)
def revoke_invitation(world: World, pick: Pick) -> Request | None:
    one = pick_holding(world, pick, "invitations")
    if one is None:
        return None
    invitation = pick.of(list(one.invitations))

    def remember(_: Answer) -> None:
        del one.invitations[invitation]

    path = f"/organisations/{one.id}/invitations/{invitation}"
    return Request("revokeInvitation", one.admin, "DELETE", path, expect=204, on_success=remember)


@action(weight=1)
def accept_invitation(world: World, pick: Pick) -> Request | None:
    """Seldom: a password is slow to hash."""
    one = pick_holding(world, pick, "invitations")
    if one is None or len(one.members) > 1:
        return None
    invitation, (token, role) = pick.of(list(one.invitations.items()))
    name = f"member{world.number()}"

    def remember(answer: Answer) -> None:
        del one.invitations[invitation]
        one.accepted.append(invitation)
        one.members.append(Member(answer.body["id"], f"{name}@example.org", PASSWORD, role))

    body = {"token": token, "username": f"{name}@example.org", "password": PASSWORD, "displayName": name}
    path = "/auth/public/invitations/accept"
    return Request("acceptInvitation", ANONYMOUS, "POST", path, body, on_success=remember)


ANONYMOUS = Person("nobody", "operator", "NONE", "")


@action(weight=1)
def make_key(world: World, pick: Pick) -> Request | None:
    one = pick.of(world.owners + world.traders)
    if len(one.keys) > 5:
        return None
    body: dict[str, Any] = {
        "name": f"Key {world.number()}",
        "permissions": ["Read:physical-assets", "Create:monitoring"],
    }
    is_far = pick.chance(20)
    if is_far:
        body["allowedNetworks"] = ["192.0.2.0/24"]

    def remember(answer: Answer) -> None:
        person = Person(f"{one.name}_key", one.name, "KEY", answer.body["secret"])
        (one.far_keys if is_far else one.keys)[answer.body["id"]] = person

    return Request("createApiKey", one.admin, "POST", "/auth/api-keys", body, expect=201, on_success=remember)


@action(weight=1)
def use_key(world: World, pick: Pick) -> Request | None:
    one = pick_holding(world, pick, "keys")
    if one is None:
        return None
    return Request("listPhysicalAssets", pick.of(list(one.keys.values())), "GET", "/physical-assets", expect=200)


@action(weight=1)
def delete_key(world: World, pick: Pick) -> Request | None:
    one = pick_holding(world, pick, "keys")
    if one is None:
        return None
    key = pick.of(list(one.keys))

    def remember(_: Answer) -> None:
        del one.keys[key]

    if pick.chance(40):
        path = f"/organisations/{one.id}/api-keys/{key}"
        return Request("deleteOrganisationApiKey", one.admin, "DELETE", path, expect=204, on_success=remember)
    return Request("deleteApiKey", one.admin, "DELETE", f"/auth/api-keys/{key}", expect=204, on_success=remember)
