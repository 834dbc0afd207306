"""The cast of a life: an operator, two owners and three traders, one person for each role of each."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from tests.simulation.identity_provider import IdentityProvider
from tests.simulation.model import Organisation, World
from tests.simulation.service import Service

PARTICIPANT = "PARTICIPANT"


async def found_world(service: Service, now: datetime, provider: IdentityProvider) -> World:
    operator_id, cast = await service.sign_in_operator()
    world = World(now, Organisation("operator", operator_id, "OPERATOR", cast), [], [], provider=provider)
    for name in ("owner1", "owner2"):
        world.owners.append(_make_organisation(name, await service.found_cast(name, PARTICIPANT)))
    for name in ("trader1", "trader2", "trader3"):
        world.traders.append(_make_organisation(name, await service.found_cast(name, PARTICIPANT)))
    return world


def _make_organisation(name: str, founded: tuple[str, Any]) -> Organisation:
    return Organisation(name, str(UUID(founded[0])), PARTICIPANT, founded[1])
