"""Owners: batteries, their parameters, what is missing of them, their own schedules, and who may do what."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, as_window, exact, pick_battery, pick_window
from tests.simulation.calls import Answer, Request
from tests.simulation.market import from_text, quarter_of, start_of_quarter, to_text
from tests.simulation.model import ZONES, Battery, Organisation, Outage, Parameters, World
from tests.simulation.oracle.availability import ZERO, available_in, lowest_between
from tests.simulation.oracle.book import SLACK, read_page
from tests.simulation.steps import Pick

MAX_BATTERIES = 6
KINDS = ("MAINTENANCE", "OUTAGE", "REDISPATCH", "GRID_CONSTRAINT", "CURTAILMENT", "TESTING", "COMMISSIONING", "OTHER")
GRANTABLE = (
    "Read:physical-assets",
    "Update:physical-assets",
    "Read:schedules",
    "Update:schedules",
    "Create:ancillary-bids",
    "Create:ancillary-results",
    "Create:unavailabilities",
    "Create:logbook",
    "Create:exchange-notifications",
    "Read:monitoring",
    "Create:monitoring",
)


def read_parameters(body: dict[str, Any]) -> Parameters:
    """As answered; a number is taken as it is written."""
    since = body.get("validFrom")
    cycles = body.get("dailyCycleLimit")
    return Parameters(
        since=None if since is None else from_text(since),
        charge=exact(body["ratedChargePower"]),
        discharge=exact(body["ratedDischargePower"]),
        energy=exact(body["energyCapacity"]),
        charge_efficiency=exact(body["chargeEfficiency"]),
        discharge_efficiency=exact(body["dischargeEfficiency"]),
        lowest=exact(body.get("minStateOfCharge", 0)),
        highest=exact(body.get("maxStateOfCharge", 1)),
        fcr_ratio=exact(body.get("fcrLimitRatio", 0.8)),
        daily_cycles=None if cycles is None else exact(cycles),
    )


def choose_parameters(pick: Pick) -> dict[str, Any]:
    power = pick.between(4, 20, 2) * 1000
    body: dict[str, Any] = {
        "ratedChargePower": power,
        "ratedDischargePower": power + pick.one_of(0, 0, 2000),
        "energyCapacity": power * pick.one_of(2, 1, 4),
        "chargeEfficiency": pick.one_of(0.95, 0.95, 1, 0.9),
        "dischargeEfficiency": pick.one_of(0.95, 0.95, 1, 0.9),
    }
    if pick.chance(25):
        body |= {"minStateOfCharge": 0.1, "maxStateOfCharge": 0.9}
    if pick.chance(15):
        body["dailyCycleLimit"] = pick.one_of(2, 1.5, 3)
    return body


@action(weight=3)
def register_battery(world: World, pick: Pick) -> Request | None:
    if len(world.batteries) >= MAX_BATTERIES:
        return None
    owner, zone = pick.of(world.owners), pick.one_of(ZONES[0], ZONES[0], ZONES[1])
    name = f"battery{world.number()}"
    body = {"name": name, "organisationID": owner.id, "deliveryZone": zone, "parameters": choose_parameters(pick)}

    def remember(answer: Answer) -> None:
        made = answer.body
        first = read_parameters({**made["parameters"], "validFrom": None})
        world.batteries[name] = Battery(name, made["id"], owner, zone, made["status"], [first])
        if by is world.operator:  # who registers for another is granted everything, until the owner takes it back
            world.batteries[name].grants["operator"] = ["*"]

    by = owner if pick.below(5) == 4 else world.operator
    return Request("registerPhysicalAsset", by.admin, "POST", "/physical-assets", body, expect=201, on_success=remember)


def may_promise(battery: Battery) -> bool:
    """Whether the operator may allocate of it."""
    return bool({"*", "Update:schedules"} & set(battery.grants.get("operator", ())))


@action(weight=2)
def rename_battery(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    body = {"name": f"{battery.name} {world.number()}"}
    return Request("updatePhysicalAsset", battery.owner.engineer, "PATCH", battery.path, body, expect=200)


@action(weight=1)
def retire_battery(world: World, pick: Pick) -> Request | None:
    """Or take it into service again."""
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    status = pick.one_of("ACTIVE", "INACTIVE", "ACTIVE")

    def remember(answer: Answer) -> None:
        battery.status = answer.body["status"]

    return Request(
        "updatePhysicalAsset", battery.owner.admin, "PATCH", battery.path, {"status": status}, on_success=remember
    )


@action(weight=3)
def change_parameters(world: World, pick: Pick) -> Request | None:
    """Lower or higher, from a moment to come, from now, or from within a quarter-hour."""
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    last = battery.versions[-1]
    factor = Fraction(pick.one_of(10, 8, 5, 12), 10)
    body: dict[str, Any] = {
        "ratedChargePower": float(last.charge * factor),
        "ratedDischargePower": float(last.discharge * factor),
        "energyCapacity": float(last.energy * factor),
        "chargeEfficiency": float(last.charge_efficiency),
        "dischargeEfficiency": float(last.discharge_efficiency),
        "minStateOfCharge": float(last.lowest),
        "maxStateOfCharge": float(last.highest),
        "fcrLimitRatio": float(last.fcr_ratio),
    }
    if last.charge * factor > 100_000 or last.charge * factor < 1000:
        return None
    if last.daily_cycles is not None:
        body["dailyCycleLimit"] = float(last.daily_cycles)
    if pick.chance(80):
        minutes = pick.between(15, 4 * 1440, 15) + pick.one_of(0, 0, 7)
        start = start_of_quarter(quarter_of(world.now))
        body["validFrom"] = to_text(start + timedelta(minutes=minutes))

    def remember(answer: Answer) -> None:
        battery.versions.append(read_parameters(answer.body))
        disturb(world, battery)

    path = f"{battery.path}/parameters"
    return Request("putParameters", battery.owner.engineer, "PUT", path, body, expect=200, on_success=remember)


def disturb(world: World, battery: Battery) -> None:
    """What stands on it may be cut from now on."""
    for virtual in world.virtuals.values():
        if any(name == battery.name for name, _ in virtual.backing):
            virtual.is_disturbed = True


@action(weight=2)
def read_parameters_history(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    if pick.chance(50):
        return Request("readParameters", battery.owner.viewer, "GET", f"{battery.path}/parameters", expect=200)
    path = f"{battery.path}/parameters/history"
    return Request("listParametersHistory", battery.owner.viewer, "GET", path, expect=200)


# --- what is missing -------------------------------------------------------------------------------------------------


def choose_outage(world: World, pick: Pick, battery: Battery) -> tuple[dict[str, Any], bool]:
    """A body, and whether it lies within what is rated at every moment."""
    first, end = pick_window(world, pick, -1, 4)
    start, stop = start_of_quarter(first), start_of_quarter(end)
    if pick.chance(20):
        start, stop = start + timedelta(minutes=pick.between(1, 14)), stop + timedelta(minutes=pick.between(1, 14))
    rated = lowest_between(battery, start, stop)
    part = Fraction(pick.one_of(10, 5, 2, 10, 0, 11), 10)
    energy_part = Fraction(pick.one_of(0, 5, 10, 2), 10)
    volume = {
        "energyCapacity": float(rated.energy * energy_part),
        "powerCapacity": {"charge": float(rated.charge * part), "discharge": float(rated.discharge * part)},
    }
    body = {
        "description": f"Outage {world.number()}",
        "type": pick.of(KINDS),
        "start": to_text(start),
        "end": to_text(stop),
        "volume": volume,
    }
    return body, part <= 1


def remember_outage(world: World, battery: Battery, body: dict[str, Any]) -> None:
    power = body["volume"]["powerCapacity"]
    battery.outages[body["id"]] = Outage(
        body["id"],
        from_text(body["start"]),
        from_text(body["end"]),
        exact(power["charge"]),
        exact(power["discharge"]),
        exact(body["volume"]["energyCapacity"]),
    )
    disturb(world, battery)


def rooms_met(battery: Battery, first: int, end: int, world: World) -> tuple[str, ...]:
    """Which other rooms have something on a battery within a window."""
    met = set()
    for quarter in {first, (first + end) // 2, end - 1}:
        page = read_page(world, battery, quarter)
        met |= {
            name
            for name, amounts in (
                ("promise", page.promised),
                ("auction", page.offered),
                ("FCR", page.fcr),
                ("aFRR capacity", page.afrr_capacity),
                ("aFRR energy", page.afrr_energy),
                ("own schedule", page.own),
            )
            if amounts.charge or amounts.discharge
        }
        if page.available != page.rated:
            met.add("outage")
    return tuple(sorted(met))


@action(weight=8)
def report_outage(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    body, fits = choose_outage(world, pick, battery)
    if battery.notifications and pick.chance(30):
        body["exchangeNotificationIds"] = [pick.of(list(battery.notifications))]
    first, end = quarter_of(from_text(body["start"])), quarter_of(from_text(body["end"])) + 1
    path = f"{battery.path}/unavailability"
    return Request(
        "createUnavailability",
        battery.owner.engineer,
        "POST",
        path,
        body,
        expect=201 if fits else 422,
        on_success=lambda answer: remember_outage(world, battery, answer.body),
        met=tuple(f"outage × {room}" for room in rooms_met(battery, first, end, world)),
    )


@action(weight=2)
def preview_outage(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    body, fits = choose_outage(world, pick, battery)
    path = f"{battery.path}/unavailability-previews"
    return Request("previewUnavailability", battery.owner.engineer, "POST", path, body, expect=200 if fits else 422)


@action(weight=4)
def move_outage(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None or not battery.outages:
        return None
    outage = pick.of(list(battery.outages.values()))
    body: dict[str, Any] = {}
    if pick.chance(50):
        body["end"] = to_text(outage.end + timedelta(minutes=pick.between(-120, 240, 15)))
    if pick.chance(40):
        body["start"] = to_text(outage.start + timedelta(minutes=pick.between(-120, 120, 15)))
    if not body:
        body["description"] = f"Moved {world.number()}"
    start, end = from_text(body.get("start", to_text(outage.start))), from_text(body.get("end", to_text(outage.end)))
    rated = lowest_between(battery, start, end) if start < end else None
    fits = rated is not None and (
        outage.charge <= rated.charge and outage.discharge <= rated.discharge and outage.energy <= rated.energy
    )
    expect = 400 if start >= end else 200 if fits else (200, 422)
    path = f"{battery.path}/unavailability/{outage.id}"
    return Request(
        "updateUnavailability",
        battery.owner.engineer,
        "PATCH",
        path,
        body,
        expect=expect,
        on_success=lambda answer: remember_outage(world, battery, answer.body),
    )


@action(weight=2)
def cancel_outage(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None or not battery.outages:
        return None
    outage = pick.of(list(battery.outages))

    def remember(_: Answer) -> None:
        del battery.outages[outage]
        disturb(world, battery)

    path = f"{battery.path}/unavailability/{outage}"
    return Request("cancelUnavailability", battery.owner.engineer, "DELETE", path, expect=204, on_success=remember)


@action(weight=2)
def list_outages(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    if battery.outages and pick.chance(50):
        path = f"{battery.path}/unavailability/{pick.of(list(battery.outages))}"
        return Request("readUnavailability", battery.owner.viewer, "GET", path, expect=200)
    path = f"{battery.path}/unavailability"
    return Request("listUnavailabilities", battery.owner.viewer, "GET", path, expect=200)


# --- the owner's own use ---------------------------------------------------------------------------------------------


@action(weight=5)
def schedule_battery(world: World, pick: Pick) -> Request | None:
    """Some quarter-hours in a row; judged by the book as it would be without those."""
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    first, end = pick_window(world, pick, 0, 4)
    end = min(end, first + 48)
    powers = [exact(pick.between(-4000, 4000, 500)) for _ in range(2)]
    points = {quarter: powers[(quarter - first) // 4 % 2] for quarter in range(first, end)}
    started = start_of_quarter(first) <= world.now
    expect: Any = 409 if started else _judge_own(world, battery, points)
    if battery.status != "ACTIVE":
        expect = None
    body = {"schedule": [{"time": to_text(start_of_quarter(q)), "power": float(p)} for q, p in points.items()]}

    def remember(_: Answer) -> None:
        battery.own |= points

    path = f"{battery.path}/schedule"
    return Request(
        "putPhysicalAssetSchedule",
        battery.owner.trader,
        "PUT",
        path,
        body,
        expect=expect,
        on_success=remember,
        met=tuple(f"own schedule × {room}" for room in rooms_met(battery, first, end, world)),
    )


def _judge_own(world: World, battery: Battery, points: dict[int, Fraction]) -> int | tuple[int, ...]:
    before = dict(battery.own)
    taken, unavailable = False, False
    battery.own |= points
    try:
        for quarter, power in points.items():
            page = read_page(world, battery, quarter)
            side = page.available.charge if power < 0 else page.available.discharge
            unavailable |= abs(power) > side + SLACK
            missing = page.missing
            taken |= (power < 0 and missing.charge > SLACK) or (power > 0 and missing.discharge > SLACK)
            taken |= missing.energy > SLACK
    finally:
        battery.own = before
    if unavailable:
        return (409, 422)
    return (200, 409, 422) if taken else (200, 409)


@action(weight=2)
def read_schedule(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    first, end = pick_window(world, pick, -1, 3)

    def check(answer: Answer) -> None:
        for point in answer.body["schedule"]:
            power = battery.own.get(quarter_of(from_text(point["time"])), ZERO)
            assert exact(point["power"]) == power, f"own schedule at {point['time']}: {power} kW, not {point['power']}"

    path = f"{battery.path}/schedule"
    query = as_window(first, end)
    return Request("readPhysicalAssetSchedule", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


# --- grants, fleets --------------------------------------------------------------------------------------------------


@action(weight=2)
def grant(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    other = pick.of([one for one in world.organisations if one is not battery.owner])
    words = sorted({pick.of(GRANTABLE) for _ in range(pick.between(1, 4))})
    if other is world.operator:
        words = sorted({*words, pick.one_of("Update:schedules", "Update:schedules", "Read:schedules")})

    def remember(_: Answer) -> None:
        battery.grants[other.name] = words

    path = f"{battery.path}/grants/{other.id}"
    body = {"permissions": words}
    return Request("putGrant", battery.owner.admin, "PUT", path, body, expect=200, on_success=remember)


@action(weight=1)
def withdraw_grant(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None or not battery.grants:
        return None
    name = pick.of(sorted(battery.grants))

    def remember(_: Answer) -> None:
        del battery.grants[name]

    path = f"{battery.path}/grants/{world.find_organisation(name).id}"
    return Request("deleteGrant", battery.owner.admin, "DELETE", path, expect=204, on_success=remember)


@action(weight=1)
def read_grants(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    if battery.grants and pick.chance(50):
        name = pick.of(sorted(battery.grants))

        def check(answer: Answer) -> None:
            said = sorted(answer.body["permissions"])
            assert battery.grants[name] in (said, ["*"]), f"grant {battery.grants[name]}, not {said}"

        path = f"{battery.path}/grants/{world.find_organisation(name).id}"
        return Request("readGrant", battery.owner.admin, "GET", path, expect=200, check=check)
    return Request("listGrants", battery.owner.admin, "GET", f"{battery.path}/grants", expect=200)


def _owned(world: World, owner: Organisation) -> list[Battery]:
    return [one for one in world.batteries.values() if one.owner is owner]


@action(weight=1)
def make_fleet(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    free = [one.id for one in _owned(world, owner) if not any(one.id in fleet for fleet in owner.fleets.values())]
    chosen = free[: pick.between(0, 2)]

    def remember(answer: Answer) -> None:
        owner.fleets[answer.body["id"]] = chosen

    body = {"name": f"Fleet {world.number()}", "organisationID": owner.id, "physicalAssetIDs": chosen}
    return Request("createFleet", owner.admin, "POST", "/fleets", body, expect=201, on_success=remember)


@action(weight=1)
def change_fleet(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    if not owner.fleets:
        return None
    fleet = pick.of(list(owner.fleets))
    chosen = [one.id for one in _owned(world, owner) if pick.chance(50)]

    def remember(_: Answer) -> None:
        for other in owner.fleets:
            owner.fleets[other] = [one for one in owner.fleets[other] if one not in chosen]
        owner.fleets[fleet] = chosen

    return Request(
        "updateFleet", owner.admin, "PATCH", f"/fleets/{fleet}", {"physicalAssetIDs": chosen}, on_success=remember
    )


@action(weight=1)
def remove_fleet(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    if len(owner.fleets) < 2:
        return None
    fleet = pick.of(list(owner.fleets))

    def remember(_: Answer) -> None:
        del owner.fleets[fleet]

    return Request("deleteFleet", owner.admin, "DELETE", f"/fleets/{fleet}", expect=204, on_success=remember)


@action(weight=1)
def read_fleets(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)
    if owner.fleets and pick.chance(50):
        fleet = pick.of(list(owner.fleets))

        def check(answer: Answer) -> None:
            said = sorted(answer.body["physicalAssetIDs"])
            assert said == sorted(owner.fleets[fleet]), f"fleet of {owner.fleets[fleet]}, not {said}"

        return Request("readFleet", owner.viewer, "GET", f"/fleets/{fleet}", expect=200, check=check)
    return Request("listFleets", owner.viewer, "GET", "/fleets", expect=200)


# --- what they have --------------------------------------------------------------------------------------------------


@action(weight=4)
def read_availability(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    first, end = pick_window(world, pick, -1, 4)

    def check(answer: Answer) -> None:
        for point in answer.body["availability"]:
            rated, available = available_in(battery, quarter_of(from_text(point["time"])))
            for name, expected in (
                ("ratedChargePower", rated.charge),
                ("availableChargePower", available.charge),
                ("ratedDischargePower", rated.discharge),
                ("availableDischargePower", available.discharge),
                ("ratedEnergy", rated.energy),
                ("availableEnergy", available.energy),
            ):
                said = exact(point[name])
                assert abs(said - expected) <= SLACK, f"{name} {float(expected)} at {point['time']}, not {point[name]}"

    path = f"{battery.path}/availability"
    query = as_window(first, end)
    return Request("readAvailability", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


@action(weight=6)
def read_commitments(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    first, end = pick_window(world, pick, -1, 6)
    return book_request(world, battery, first, end)


def book_request(world: World, battery: Battery, first: int, end: int) -> Request:
    """A battery's book over a window, compared line by line."""
    path = f"{battery.path}/commitments"
    return Request(
        "readCommitments",
        battery.owner.viewer,
        "GET",
        path,
        query=as_window(first, end),
        expect=200,
        check=lambda answer: compare_book(world, battery, answer),
    )


def compare_book(world: World, battery: Battery, answer: Answer) -> None:
    for said in answer.body["commitments"]:
        page = read_page(world, battery, quarter_of(from_text(said["time"])))
        for side in ("charge", "discharge", "energy"):
            lines = said[side]
            expected = {
                "rated": page.rated,
                "available": page.available,
                "promised": page.promised,
                "offered": page.offered,
                "ownSchedule": page.own,
                "free": page.free,
                "missing": page.missing,
            }
            for name, amounts in expected.items():
                _compare_line(said["time"], f"{side}/{name}", getattr(amounts, side), lines[name])
            held = {"fcr": page.fcr, "afrrCapacity": page.afrr_capacity, "afrrEnergy": page.afrr_energy}
            for name, amounts in held.items():
                _compare_line(
                    said["time"], f"{side}/ancillary/{name}", getattr(amounts, side), lines["ancillary"][name]
                )


def _compare_line(time: str, name: str, expected: Fraction, said: float) -> None:
    slack = max(SLACK, abs(expected) / 10**9)
    assert abs(exact(said) - expected) <= slack, f"book at {time}: {name} is {float(expected)}, not {said}"


@action(weight=1)
def read_health(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    return Request("readHealth", battery.owner.viewer, "GET", f"{battery.path}/health", expect=200)


@action(weight=1)
def list_batteries(world: World, pick: Pick) -> Request | None:
    owner = pick.of(world.owners)

    def check(answer: Answer) -> None:
        said = {one["id"] for one in answer.body}
        missing = {one.id for one in _owned(world, owner)} - said
        assert not missing, f"the owner's batteries {missing} in the list"

    return Request("listPhysicalAssets", owner.viewer, "GET", "/physical-assets", expect=200, check=check)
