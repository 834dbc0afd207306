"""The beginning of a world: organisations and their members, batteries, fleets, portfolios, and two years of prices."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.kernel.permission import Permission
from gridloom.sandbox.simulator import publishing
from gridloom.sandbox.simulator.api_session import ApiSession, Connect, written
from gridloom.sandbox.simulator.batteries.physics import AMBIENT_C
from gridloom.sandbox.simulator.credentials import SimulatorCredentials, member_name, member_password, newcomer_sign_ins
from gridloom.sandbox.simulator.market.calendar import periods_of
from gridloom.sandbox.simulator.market.day_ahead import FIRST_QUARTER_HOURLY_DAY, DayAhead
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.scenario import (
    BATTERIES,
    FLEETS,
    ORGANISATIONS,
    SimulatedBattery,
    SimulatedOrganisation,
    batteries_of,
)
from gridloom.sandbox.simulator.state import SimulatorState
from gridloom_client import BadRequestError, ConflictError, NotFoundError, UnprocessableError

PAST_DAYS = 730
LONGEST_MONTH_DAYS = 31
"""The month in which the world begins can be issued whole: its earlier days have imbalance prices."""
ROWS_A_REQUEST = 20_000
INITIAL_CHARGE, LOWEST_CHARGE, HIGHEST_CHARGE = 0.5, 0.05, 0.95
OPERATOR_MAY = [
    Permission.READ_PHYSICAL_ASSETS,
    Permission.READ_SCHEDULES,
    Permission.UPDATE_SCHEDULES,
    Permission.CREATE_ANCILLARY_RESULTS,
    Permission.READ_MONITORING,
    Permission.CREATE_MONITORING,
]
"""Grants of owners to the operator on their batteries: promise them, dispatch them, and bring in what is metered."""


async def seed_world(
    connect: Connect, credentials: SimulatorCredentials, operator: ApiSession, memory: SimulatorState, start: datetime
) -> dict[str, ApiSession]:
    """Make what is missing; done twice it is made once. Answers the sessions of all organisations."""
    prices = asyncio.create_task(_publish_past(operator, memory, start))
    sessions = {
        one.slug: await _found_organisation(connect, credentials, operator, memory, one) for one in ORGANISATIONS
    }
    # One after the other: the order in which the platform knows them is the order in which it spreads power over them.
    for one in BATTERIES:
        memory.batteries[one.slug] = await _register_battery(sessions[one.owner], one, f"{memory.world}/seed")
    await asyncio.gather(
        *(
            _describe_battery(sessions[one.owner], one, memory.batteries[one.slug], operator.organisation_id)
            for one in BATTERIES
        )
    )
    await asyncio.gather(*(_group_assets(sessions[one.slug], one, memory) for one in ORGANISATIONS))
    count = len(BATTERIES)
    memory.energy_kwh = [INITIAL_CHARGE * battery.energy_kwh for battery in BATTERIES]
    memory.temperature_c, memory.health_percent = [AMBIENT_C] * count, [100.0] * count
    memory.cycles, memory.owed_kwh = [0.0] * count, [0.0] * count
    memory.metered_until = start
    await prices
    return sessions


async def join_again(
    connect: Connect, credentials: SimulatorCredentials, operator: ApiSession, memory: SimulatorState
) -> dict[str, ApiSession]:
    """The sessions of a world that was seeded before; organisations that a later release knows join it now."""
    sessions = {}
    for one in ORGANISATIONS:
        if one.slug in memory.organisations:
            client = _member_client(connect, credentials, one.slug)
            sessions[one.slug] = ApiSession(client, memory.organisations[one.slug])
            continue
        sessions[one.slug] = await _found_organisation(connect, credentials, operator, memory, one)
        await _group_assets(sessions[one.slug], one, memory)
    return sessions


async def _found_organisation(
    connect: Connect,
    credentials: SimulatorCredentials,
    operator: ApiSession,
    memory: SimulatorState,
    organisation: SimulatedOrganisation,
) -> ApiSession:
    """Make it, with the simulator's member and, where it is the newcomer's, theirs."""
    slug = organisation.slug
    found = await operator.post(
        "/organisations", {"name": organisation.name, "kind": "PARTICIPANT"}, f"{memory.world}/{slug}"
    )
    memory.organisations[slug] = found["id"]
    name, password = member_name(credentials, slug), member_password(credentials, slug)
    await _let_in(operator, found["id"], name, password, "Simulator", memory)
    for person in newcomer_sign_ins(credentials):
        if person.organisation == slug:
            await _let_in(operator, found["id"], person.username, person.password, person.username.title(), memory)
    return ApiSession(_member_client(connect, credentials, slug), found["id"])


def _member_client(connect: Connect, credentials: SimulatorCredentials, slug: str) -> Any:
    return connect(member_name(credentials, slug), member_password(credentials, slug))


async def _let_in(
    operator: ApiSession, organisation_id: str, username: str, password: str, display_name: str, memory: SimulatorState
) -> None:
    """Invite a person as ADMIN and accept for them, as a person would."""
    invitation = await operator.post(
        f"/organisations/{organisation_id}/invitations",
        {"email": f"{username}@example.org", "role": "ADMIN"},
        f"{memory.world}/invite/{username}",
    )
    await accept_invitation(operator, invitation["token"], username, password, display_name)


async def accept_invitation(session: ApiSession, token: str, username: str, password: str, display_name: str) -> None:
    accepted = {"token": token, "username": username, "password": password, "display_name": display_name}
    try:
        await session.client.auth.accept_invitation(**accepted)
    except (BadRequestError, ConflictError, NotFoundError, UnprocessableError):
        # Accepted before a crash; if not, signing in will tell.
        await session.client.auth.authenticate(username=username, password=password)


async def _register_battery(owner: ApiSession, battery: SimulatedBattery, key: str) -> str:
    body = {
        "name": battery.name,
        "organisationID": owner.organisation_id,
        "deliveryZone": battery.zone,
        "eicCode": battery.eic,
        "parameters": {
            "ratedChargePower": battery.power_kw,
            "ratedDischargePower": battery.power_kw,
            "energyCapacity": battery.energy_kwh,
            "chargeEfficiency": battery.efficiency,
            "dischargeEfficiency": battery.efficiency,
            "minStateOfCharge": LOWEST_CHARGE,
            "maxStateOfCharge": HIGHEST_CHARGE,
            "rampRate": battery.power_kw,
        },
    }
    found = await owner.post("/physical-assets", body, f"{key}/{battery.slug}")
    return str(found["id"])


async def _describe_battery(owner: ApiSession, battery: SimulatedBattery, id: str, operator_id: str) -> None:
    """Its location, and what the operator may do with it."""
    place = {"latitude": battery.latitude, "longitude": battery.longitude}
    site = {"coordinates": place, "city": battery.name, "country": "DE"}
    await owner.put(f"/physical-assets/{id}/metadata/site", site)
    await owner.put(f"/physical-assets/{id}/grants/{operator_id}", {"permissions": OPERATOR_MAY})


async def _group_assets(session: ApiSession, organisation: SimulatedOrganisation, memory: SimulatorState) -> None:
    key = f"{memory.world}/group/{organisation.slug}"
    if organisation.trades:
        made = await session.post(
            f"/organisations/{session.organisation_id}/portfolios", {"name": "Spot and balancing"}, key
        )
        memory.portfolios[organisation.slug] = made["id"]
        return
    own = batteries_of(organisation.slug)
    for name, zones in FLEETS.items():
        ids = [memory.batteries[battery.slug] for battery in own if battery.zone in zones]
        body = {"name": name, "organisationID": session.organisation_id, "physicalAssetIDs": ids}
        await session.post("/fleets", body, f"{key}/{name}")


# --- two years of prices ---------------------------------------------------------------------------------------------


async def _publish_past(operator: ApiSession, memory: SimulatorState, start: datetime) -> None:
    """All that the market has published until the world begins, so that forecasts and back-tests work at once."""
    today = market_day_of(start)
    first = today - timedelta(days=PAST_DAYS)
    rows = await asyncio.to_thread(past_rows, memory.seed_of(today), first, PAST_DAYS + 1)
    for low in range(0, len(rows), ROWS_A_REQUEST):
        await publishing.publish(operator, rows[low : low + ROWS_A_REQUEST])


def past_rows(seed: int, first: date, days: int) -> list[dict[str, Any]]:
    prices = DayAhead(seed).many_days(first, days)
    rows: list[dict[str, Any]] = []
    for number, of_day in enumerate(prices):
        day = first + timedelta(days=number)
        if day < FIRST_QUARTER_HOURLY_DAY:
            rows.extend(_hourly_rows(day, of_day))
            continue
        rows.extend(publishing.price_rows("DAY_AHEAD_DE_LU", periods_of(day), of_day))
    for number in range(max(0, days - 60), days):
        day = first + timedelta(days=number)
        rows.extend(publishing.balancing_rows(seed, day))
    market = MarketData(lambda _: seed)
    for number in range(max(0, days - 1 - LONGEST_MONTH_DAYS), days - 1):  # of the days that are over
        day = first + timedelta(days=number)
        rows.extend(publishing.price_rows("REBAP_DE", periods_of(day), market.imbalance(day)))
    return rows


def _hourly_rows(day: date, of_day: np.ndarray) -> list[dict[str, Any]]:
    midnight, hour = market_day_window(day).start, timedelta(hours=1)
    return [
        {
            "series": "DAY_AHEAD_DE_LU",
            "start": written(midnight + n * hour),
            "end": written(midnight + (n + 1) * hour),
            "price": float(price),
        }
        for n, price in enumerate(of_day[::4])
    ]
