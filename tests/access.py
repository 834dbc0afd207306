"""Two organisations with a resource of every kind, and what the one may not do with those of the other.

Each room tries its own operations (`Access.try_as_stranger`); the access matrix walks over those of all rooms.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2
import numpy as np
from tests.assets import register_asset
from tests.expected_access import EXPECTED
from tests.people import PASSWORD, OrganisationUnderTest, People, client_of
from tests.samples import Sampler

from gridloom.app import ROUTE_MODULES
from gridloom.delivery.model import DistributionMethod
from gridloom.delivery.runs.store import Run, add_run
from gridloom.kernel.copying import field_names_of
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import market_day_of
from gridloom.optimiser.backtests.model import Backtest
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import Policy
from gridloom.optimiser.backtests.store import insert_backtest
from gridloom.platform.http import EVENT_STREAM, Operation, operations_of
from gridloom.platform.http.application import Application
from gridloom.platform.http.fields import to_json
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store.grants import insert_asset
from gridloom.revenue.statement.model import LineType
from gridloom.statements.assembling import Amounts, Issue, Naming, assemble
from gridloom.statements.model import Month, NewStatement, statement_id
from gridloom.statements.store import add_statements

OPERATIONS = operations_of(*ROUTE_MODULES)
PROTECTED = [operation for operation in OPERATIONS if not operation.access.is_public]


@dataclass(frozen=True)
class World:
    """An organisation with resources of its own, and a stranger with every permission a participant can hold."""

    edge: Application
    owner: OrganisationUnderTest
    stranger: OrganisationUnderTest
    operator: httpx2.AsyncClient
    ids: dict[str, UUID]
    """The owner's."""
    own: dict[str, UUID]
    """The stranger's, of what can stand first in a path."""


# --- sample resources ----------------------------------------------------------------------------------------------


async def _created(client: httpx2.AsyncClient, path: str, body: dict[str, Any]) -> UUID:
    answer = await client.post(path, json=body)
    if answer.status_code == 404 and "Nothing stands" in answer.text:
        return uuid4()  # what makes these is not part of this service
    assert answer.status_code == 201, f"the sample of {path} was refused: {answer.text}"
    return UUID(answer.json()["id"])


async def _physical_asset(world: World) -> UUID:
    return UUID((await register_asset(world.owner)).id)


async def _virtual_asset(world: World) -> UUID:
    asset_id = uuid7()
    await insert_asset(world.edge.pool, asset_id, "VIRTUAL", world.owner.id)
    return asset_id


async def _auction(world: World) -> UUID:
    item = {
        "start": "2040-01-01T00:00:00Z",
        "end": "2040-02-01T00:00:00Z",
        "deliveryZone": "TenneT",
        "ratedChargePower": 1000,
        "ratedDischargePower": 1000,
        "energyCapacity": 2000,
        "chargeEfficiency": 0.9,
        "dischargeEfficiency": 0.9,
    }
    physical = (await register_asset(world.stranger)).id
    return await _created(
        world.operator,
        "/auctions",
        {
            "start": "2039-01-01T00:00:00Z",
            "end": "2039-01-02T00:00:00Z",
            "item": item,
            "backing": [{"physicalAssetID": physical, "share": 1}],
            "participants": [str(world.owner.id)],
        },
    )


SAMPLES: dict[str, Callable[[World], Awaitable[UUID]]] = {
    "physicalAssetID": _physical_asset,
    "virtualAssetID": _virtual_asset,
    "apiKeyID": lambda world: _created(
        world.owner.admin, "/auth/api-keys", {"name": "Sample", "permissions": ["Read:monitoring"]}
    ),
    "fleetID": lambda world: _created(
        world.owner.admin, "/fleets", {"name": "Sample", "organisationID": str(world.owner.id), "physicalAssetIDs": []}
    ),
    "portfolioID": lambda world: _created(
        world.owner.admin, f"/organisations/{world.owner.id}/portfolios", {"name": "Sample"}
    ),
    "webhookID": lambda world: _created(
        world.owner.admin, "/webhooks", {"url": "https://example.org/hook", "types": ["auction.opened"]}
    ),
    "sessionID": lambda world: _session(world),
    "auctionID": _auction,
    "backtestID": lambda world: _backtest(world),
    "runID": lambda world: _delivery_run(world),
}
"""A real resource of the owner's for each parameter that can stand first in a path."""


async def _session(world: World) -> UUID:
    """A session of the owner's that nothing else of the matrix uses."""
    async with client_of(world.edge) as anonymous:
        login = {"username": world.owner.people[Role.ADMIN].username, "password": PASSWORD}
        signed_in = await anonymous.post("/auth/public/authenticate", json=login)
    async with client_of(world.edge, signed_in.json()["access_token"]) as again:
        sessions = (await again.get("/auth/sessions")).json()
    return UUID(next(one["id"] for one in sessions if one["current"]))


async def _issued_statement(world: World) -> UUID:
    month = Month(date(2020, 1, 1))
    cents = np.full(month.day_count, 100, dtype=np.int64)
    amounts = Amounts(world.owner.id, month, {(LineType.TRADING, "MARKET"): cents}, {})
    issued_at = datetime(2020, 2, 1, tzinfo=UTC)
    whole = assemble(amounts, Naming({}, {}), Issue("2020-0001", issued_at, issued_at))
    made = NewStatement(
        organisation_id=world.owner.id,
        id=statement_id(world.owner.id, month),
        month=month,
        year=2020,
        number=1,
        issued_at=issued_at,
        total_cents=amounts.total_cents,
        body=to_json(whole),
        summary=to_json(whole),
        digest=b"",
    )
    await add_statements(world.edge.pool, [made])
    return made.id


async def _below_the_asset(world: World, collection: str, body: Any) -> UUID:
    return await _created(world.owner.admin, f"/physical-assets/{world.ids['physicalAssetID']}/{collection}", body)


async def _ancillary_bid(world: World) -> UUID:
    path = f"/physical-assets/{world.ids['physicalAssetID']}/ancillary/bids"
    day = market_day_of(datetime.now(UTC)) + timedelta(days=3)
    bids = [{"capacityPrice": 1, "offeredCapacity": 1000}]
    answer = await world.owner.admin.post(
        path, json=[{"deliveryDay": day.isoformat(), "product": "NEGPOS_00_04", "bids": bids}]
    )
    assert answer.status_code == 201, answer.text
    return UUID(answer.json()[0]["bids"][0]["id"])


async def _member(world: World) -> UUID:
    return world.owner.people[Role.VIEWER].id


async def _backtest(world: World) -> UUID:
    battery = BatterySpec(1000.0, 1000.0, 2000.0, 0.9, 0.9)
    made = Backtest(
        id=uuid7(),
        organisation_id=world.owner.id,
        asked_at=datetime.now(UTC),
        status="DONE",
        start=date(2026, 1, 1),
        end=date(2026, 1, 2),
        series="DAY_AHEAD_DE_LU",
        policy=Policy.FORECAST,
        battery=battery,
        earned_eur=0.0,
        foresight_eur=0.0,
        days_done=0,
        failure=None,
    )
    await insert_backtest(world.edge.pool, made, world.owner.people[Role.ADMIN].id)
    return made.id


async def _delivery_run(world: World) -> UUID:
    known: dict[str, Any] = {
        "id": uuid7(),
        "delivery_zone": "TenneT",
        "began_at": datetime.now(UTC),
        "first_period": 1,
        "end_period": 2,
    }
    known |= {"final_until": 1, "method": DistributionMethod.CLOSED_FORM}
    run = Run(**known | {name: 0 for name in field_names_of(Run) if name not in known})
    await add_run(world.edge.pool, run)
    return run.id


async def _nothing(world: World) -> UUID:
    return uuid4()


WINDOW = {"start": "2040-01-01T00:00:00Z", "end": "2040-01-01T04:00:00Z"}
EVENT = {"eventStart": WINDOW["start"], "eventEnd": WINDOW["end"]}

BELOW_ANOTHER: dict[str, Callable[[World], Awaitable[UUID]]] = {
    "userID": _member,
    "statementID": _issued_statement,
    "invitationID": lambda world: _created(
        world.owner.admin, f"/organisations/{world.owner.id}/invitations", {"email": "a@b.c", "role": "VIEWER"}
    ),
    "unavailabilityID": lambda world: _below_the_asset(
        world,
        "unavailability",
        {
            "description": "Sample",
            "type": "MAINTENANCE",
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 1, "discharge": 1}},
            **WINDOW,
        },
    ),
    "entryID": lambda world: _below_the_asset(
        world, "logbook", {"title": "Sample", "type": "OTHER", "start": WINDOW["start"]}
    ),
    "notificationID": lambda world: _below_the_asset(
        world,
        "exchange-notifications",
        {
            "unavailabilityType": "PLANNED",
            "unavailableCapacity": 1,
            "cause": "Sample",
            "assetEic": "11WSPEICHER1---L",
            **EVENT,
        },
    ),
    "bidID": _ancillary_bid,
    "blockID": _nothing,
    "optimisationID": _nothing,
    "orderID": _nothing,
    "deliveryID": _nothing,
    "category": _nothing,
    "series": _nothing,
    "name": _nothing,
}
"""The owner's real resources for parameters that only ever stand below one of the above."""

FIXED = {"category": "grid", "name": "smard", "series": "FCR_DE"}

PUBLIC = {"series", "name"}
"""Parameters that name what everybody may read."""

STRICTLY_FORBIDDEN = {"physicalAssetID", "organisationID"}
"""The contract says 403 for a known asset or organisation without permission, and 404 for an unknown one."""


def parameters_of(operation: Operation) -> list[str]:
    return [parameter.name for parameter in operation.path_parameters]


async def make_world(app: Application, people: People, operator: httpx2.AsyncClient) -> World:
    owner, stranger = await people.new_organisation("Owner"), await people.new_organisation("Stranger")
    made = World(app, owner, stranger, operator, {"organisationID": owner.id}, {})
    needed = {name for operation in PROTECTED for name in parameters_of(operation)}
    for name, make in (SAMPLES | BELOW_ANOTHER).items():
        if name in needed:
            made.ids[name] = await make(made)
    made.own.update({"organisationID": stranger.id, "physicalAssetID": UUID((await register_asset(stranger)).id)})
    return made


# --- the walk ------------------------------------------------------------------------------------------------------


def path_of(operation: Operation, ids: dict[str, UUID]) -> str:
    path = operation.path
    for name in parameters_of(operation):
        path = path.replace(f"{{{name}}}", FIXED.get(name) or str(ids.get(name) or uuid4()))
    return path


async def ask(client: httpx2.AsyncClient, operation: Operation, sampler: Sampler, ids: dict[str, UUID]) -> Any:
    return await client.request(
        operation.method,
        path_of(operation, ids),
        params=sampler.query(operation),
        json=sampler.body(operation),
    )


def named(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


async def walk_over(operations: Sequence[Operation], check: Callable[[Operation], Awaitable[None]]) -> None:
    """All of them, and then tell of every one that failed."""
    faults: dict[str, str] = {}
    for operation in operations:
        try:
            await check(operation)
        except AssertionError as fault:
            faults[named(operation)] = str(fault)
    assert operations
    assert not faults, "\n".join(f"{name}: {fault}" for name, fault in faults.items())


@dataclass(frozen=True)
class Access:
    """Who may reach what: the two organisations, with a good request for every operation."""

    world: World
    people: People
    sampler: Sampler

    async def try_as_stranger(self, room: str) -> None:
        """Every operation of a room with the owner's resources, by a user of the other organisation: it is refused,
        or leaves no trace of them."""
        await walk_over([one for one in operations_in(room) if not _streams_ones_own(one)], self._try_as_stranger)
        nested = [one for one in operations_in(room) if _takes_another_below(one)]
        if nested:
            await walk_over(nested, self._try_below_own)

    async def _try_as_stranger(self, operation: Operation) -> None:
        names = [name for name in parameters_of(operation) if name not in PUBLIC]
        stranger = await self.people.add_member(self.world.stranger.id, Role.ADMIN)  # some operations leave nothing
        answer = await ask(stranger.client, operation, self.sampler, self.world.ids)
        assert answer.status_code < 500, answer.text
        if names:
            expected = {403} if names[0] in STRICTLY_FORBIDDEN else {403, 404}
            assert answer.status_code in expected, f"{answer.status_code}: {answer.text[:500]}"
        sent = json.dumps(self.sampler.body(operation))
        for name, id in self.world.ids.items():
            if answer.status_code < 300 and name not in PUBLIC:
                assert str(id) not in sent, f"the stranger could use {name}"
                assert str(id) not in answer.text, f"the stranger was shown {name}"

    async def _try_below_own(self, operation: Operation) -> None:
        """Something of the owner's, named below something of the stranger's own."""
        first = parameters_of(operation)[0]
        stranger = await self.people.add_member(self.world.stranger.id, Role.ADMIN)
        answer = await ask(stranger.client, operation, self.sampler, self.world.ids | {first: self.world.own[first]})
        assert answer.status_code in (403, 404), f"{answer.status_code}: {answer.text[:500]}"


def operations_in(room: str) -> list[Operation]:
    """Those that ask for a caller."""
    return [operation for operation in PROTECTED if named(operation) in EXPECTED[room]]


def _streams_ones_own(operation: Operation) -> bool:
    return EVENT_STREAM in operation.produces and not parameters_of(operation)


def _takes_another_below(operation: Operation) -> bool:
    names = parameters_of(operation)
    return (
        len(names) > 1
        and names[0] in ("organisationID", "physicalAssetID")
        and names[1] not in ("organisationID", "category")
    )
