"""Second members of guests, whose organisation ends passwords; and batteries of guests without any quota."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.simulation.actors.acting import action
from tests.simulation.actors.organisations import ANONYMOUS, PASSWORD
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.identity_provider import CLIENT
from tests.simulation.market import to_text
from tests.simulation.model import ZONES, Guest, World
from tests.simulation.steps import Pick

LONG_AGO = timedelta(days=100)
"""Older than the last hour, also where the clock that telemetry is received by has not moved yet."""


def _pick_alone(world: World, pick: Pick) -> tuple[Guest, Person] | None:
    """A guest that is signed in and may be, whatever second factors are asked for."""
    found = [(one, one.person) for one in world.guests if one.person is not None]
    return pick.of(found) if found else None


@action(weight=1)
def admit_colleague(world: World, pick: Pick) -> Request | None:
    found = _pick_alone(world, pick)
    if found is None or found[0].is_colleague_in or found[0].is_second_factor_required:
        return None
    guest, person = found
    name = f"colleague.{guest.username}"
    if guest.colleague is None:

        def remember(answer: Answer) -> None:
            guest.colleague = answer.body["token"]

        path, body = f"/organisations/{guest.id}/invitations", {"email": name, "role": "VIEWER"}
        return Request("createInvitation", person, "POST", path, body, expect=201, on_success=remember)

    def enter(_: Answer) -> None:
        guest.colleague, guest.is_colleague_in = name, True

    body = {"token": guest.colleague, "username": name, "password": PASSWORD, "displayName": "Colleague"}
    path = "/auth/public/invitations/accept"
    return Request("acceptInvitation", ANONYMOUS, "POST", path, body, expect=201, on_success=enter)


@action(weight=1)
def require_sign_on(world: World, pick: Pick) -> Request | None:
    """Passwords end for all but ADMINs."""
    found = _pick_alone(world, pick)
    if found is None or not found[0].is_colleague_in:
        return None
    guest, person = found
    if guest.is_sign_on_required:
        body: dict[str, Any] = {"username": guest.colleague, "password": PASSWORD}
        expect = (403, "single-sign-on-required")
        return Request("authenticate", ANONYMOUS, "POST", "/auth/public/authenticate", body, expect=expect)

    def remember(_: Answer) -> None:
        guest.has_provider = guest.is_sign_on_required = True
        guest.is_provider_gone = False

    body = {
        "issuer": world.provider.issuer,
        "clientID": CLIENT,
        "clientSecret": "secret",
        "domains": ["example.org"],
        "required": True,
    }
    path = f"/organisations/{guest.id}/identity-provider"
    return Request("putIdentityProvider", person, "PUT", path, body, expect=200, on_success=remember)


@action(weight=1)
def fill_quota(world: World, pick: Pick) -> Request | None:
    """A guest may store no telemetry at all; only its last hour is taken."""
    found = _pick_alone(world, pick)
    if found is None or found[0].is_second_factor_required:
        return None
    guest, person = found
    if not guest.has_no_quota:

        def remember(_: Answer) -> None:
            guest.has_no_quota = True

        path, by = f"/organisations/{guest.id}", world.operator.admin
        return Request("updateOrganisation", by, "PATCH", path, {"telemetryQuota": 0}, expect=200, on_success=remember)
    if guest.battery is None:

        def register(answer: Answer) -> None:
            guest.battery = answer.body["id"]

        parameters = {
            "ratedChargePower": 1000,
            "ratedDischargePower": 1000,
            "energyCapacity": 2000,
            "chargeEfficiency": 0.95,
            "dischargeEfficiency": 0.95,
        }
        body: dict[str, Any] = {"name": f"{guest.name} battery", "organisationID": guest.id, "parameters": parameters}
        body["deliveryZone"] = "50Hertz"
        assert body["deliveryZone"] not in ZONES, "a zone of its own, which no other battery helps"
        path = "/physical-assets"
        return Request("registerPhysicalAsset", person, "POST", path, body, expect=201, on_success=register)
    is_live = pick.chance(40)
    moment = world.now - (timedelta(minutes=20) if is_live else LONG_AGO)
    points = {"active_power": {"time": [to_text(moment)], "value": [1.0]}}
    expect: Any = 200 if is_live else (409, "quota-exceeded")
    return Request("writeDatapoints", person, "POST", f"/monitoring/{guest.battery}/datapoints", points, expect=expect)
