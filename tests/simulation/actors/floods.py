"""Guests that use up their shares: more keys, webhooks and back-tests than an organisation may have.

Seldom, since each takes dozens of requests; and only guests, so that no share of the cast is used up.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.simulation.actors.acting import action
from tests.simulation.actors.organisations import ANONYMOUS
from tests.simulation.calls import Person, Request
from tests.simulation.model import Guest, World
from tests.simulation.steps import Pick

SELDOM = 12
MAX_KEYS = 50
MAX_WEBHOOKS = 100
MAX_JOBS = 22
MAX_ATTEMPTS = 5


@action(weight=2, is_sought=False)
def use_up_share(world: World, pick: Pick) -> Request | None:
    signed_in = [(one, one.person) for one in world.guests if one.person is not None and not one.recovery_codes]
    if not signed_in or pick.below(SELDOM):
        return None
    guest, person = pick.of(signed_in)
    kind = pick.below(3)
    if kind == 0:
        body: dict[str, Any] = {"name": "Another", "permissions": ["Read:physical-assets"]}
        return _flood(guest, "createApiKey", person, "/auth/api-keys", body, "too-many-keys", MAX_KEYS)
    if kind == 1:
        body = {"url": "http://127.0.0.1:9/hook", "types": ["bid.placed"]}
        return _flood(guest, "createWebhook", person, "/webhooks", body, "too-many-webhooks", MAX_WEBHOOKS)
    if world.prices_until is None:
        return None
    day = world.prices_until - timedelta(days=1)
    battery = {"ratedPower": 1000, "energyCapacity": 2000, "chargeEfficiency": 0.95, "dischargeEfficiency": 0.95}
    body = {"start": f"{day}", "end": f"{day + timedelta(days=1)}", "policy": "FORESIGHT", "battery": battery}
    return _flood(guest, "createBacktest", person, "/backtests", body, "share-exceeded", 4 * MAX_JOBS)


@action(weight=1)
def guess_passwords(world: World, pick: Pick) -> Request | None:
    """Of a user that there is not: five attempts are let through at once."""
    if pick.below(SELDOM):
        return None
    body = {"username": f"guessed{world.number()}@example.org", "password": "wrong-harbour-spindle"}
    path, expect = "/auth/public/authenticate", (401, 429)
    return Request(
        "authenticate", ANONYMOUS, "POST", path, body, expect=expect, aim="login-throttled", floods=MAX_ATTEMPTS + 1
    )


def _flood(
    guest: Guest, operation: str, person: Person, path: str, body: dict[str, Any], problem: str, count: int
) -> Request | None:
    if problem in guest.used_up:
        return None
    guest.used_up.add(problem)
    status = 429 if problem == "share-exceeded" else 409
    return Request(operation, person, "POST", path, body, expect=(201, 202, status), aim=problem, floods=count + 1)
