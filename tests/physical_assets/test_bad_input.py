"""Every field of every body: missing, null, of the wrong type, out of range, unknown; each refusal points at it."""

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest
from tests.assets import PARAMETERS, new_asset_body, pointers, register_asset
from tests.people import OrganisationUnderTest

from gridloom.kernel.codes import eic_check_character

EIC = "11WSPEICHER-NRD" + eic_check_character("11WSPEICHER-NRD")
ID = "00000000-0000-7000-8000-000000000000"
T0, T1 = "2026-12-01T10:00:00Z", "2026-12-01T14:00:00Z"

LATE = "validFrom"
WHOLE_PARAMETERS = {
    **PARAMETERS,
    "minStateOfCharge": 0.1,
    "maxStateOfCharge": 0.9,
    "rampRate": 100,
    "dailyCycleLimit": 2,
    "annualCycleLimit": 600,
    "fcrLimitRatio": 0.7,
}
VOLUME = {"energyCapacity": 1, "powerCapacity": {"charge": 1, "discharge": 1}}
UNAVAILABILITY = {
    "description": "Oil",
    "type": "OTHER",
    "start": T0,
    "end": T1,
    "volume": VOLUME,
    "exchangeNotificationIds": [],
}
ENTRY = {
    "title": "Visit",
    "description": "",
    "type": "NOTE",
    "impact": "NEUTRAL",
    "start": T0,
    "end": T1,
    "tags": ["a"],
}
MESSAGE = {
    "unavailabilityType": "PLANNED",
    "eventStart": T0,
    "eventEnd": T1,
    "unavailableCapacity": 5000,
    "cause": "Oil",
    "messageID": "MSG-1",
    "eventType": "OTHER_UNAVAILABILITY",
    "reasonCode": "B19",
    "unitType": "GENERATION_UNIT",
    "assetEic": EIC,
    "biddingZone": "10Y1001A1001A82H",
    "installedCapacity": 12000,
    "availableCapacity": 7000,
    "capacityIntervals": [{"start": T0, "end": T1, "unavailableCapacity": 5000, "availableCapacity": 7000}],
    "eventStatus": "ACTIVE",
    "durationUncertainty": "none",
    "remarks": "none",
    "unavailabilityIDs": [],
}
BID = {"id": ID, "capacityPrice": 1, "offeredCapacity": 1000, "energyPrice": 1}
RESULT = {"bidID": ID, "accepted": False, "acceptedCapacity": 0, "settlementPrice": 1, "correction": False}

ASSET = {
    "name": "Nord",
    "organisationID": ID,
    "deliveryZone": "TenneT",
    "controlArea": "TenneT",
    "eicCode": EIC,
    "commissionedOn": "2026-01-01",
    "fleetID": None,
    "parameters": WHOLE_PARAMETERS,
}

# Body by operation; `optional` may be left out, `nullable` may be null; both as pointers with 0 for any position.
BODIES: dict[str, tuple[str, str, Any, set[str], set[str]]] = {
    "asset": (
        "POST",
        "/physical-assets",
        ASSET,
        {"/controlArea", "/eicCode", "/commissionedOn", "/fleetID"}
        | {f"/parameters/{name}" for name in WHOLE_PARAMETERS.keys() - PARAMETERS.keys()},
        {"/eicCode", "/commissionedOn", "/fleetID"}
        | {f"/parameters/{name}" for name in ("rampRate", "dailyCycleLimit", "annualCycleLimit")},
    ),
    "asset change": (
        "PATCH",
        "",
        {
            "name": "Süd",
            "deliveryZone": "TenneT",
            "controlArea": "TenneT",
            "eicCode": EIC,
            "commissionedOn": "2026-01-01",
            "fleetID": ID,
            "status": "ACTIVE",
        },
        {"*"},
        {"/eicCode", "/commissionedOn", "/fleetID"},
    ),
    "parameters": (
        "PUT",
        "/parameters",
        {**WHOLE_PARAMETERS, LATE: T0},
        {f"/{name}" for name in {*WHOLE_PARAMETERS, LATE} - PARAMETERS.keys()},
        {"/rampRate", "/dailyCycleLimit", "/annualCycleLimit"},
    ),
    "schedule": ("PUT", "/schedule", {"schedule": [{"time": T0, "power": 1}]}, set(), set()),
    "unavailability": ("POST", "/unavailability", UNAVAILABILITY, {"/exchangeNotificationIds"}, set()),
    "unavailability change": (
        "PATCH",
        "/unavailability/{unavailability}",
        UNAVAILABILITY,
        {f"/{name}" for name in UNAVAILABILITY},
        set(),
    ),
    "logbook": (
        "POST",
        "/logbook",
        ENTRY,
        {"/description", "/impact", "/end", "/tags"},
        {"/end"},
    ),
    "notification": (
        "POST",
        "/exchange-notifications",
        MESSAGE,
        {f"/{name}" for name in list(MESSAGE)[5:]} | {"/capacityIntervals/0/availableCapacity"},
        {"/durationUncertainty", "/remarks"},
    ),
    "bids": (
        "POST",
        "/ancillary/bids",
        [{"deliveryDay": "2030-01-01", "product": "POS_00_04", "bids": [BID]}],
        {"/0/bids/0/id", "/0/bids/0/energyPrice"},
        {"/0/bids/0/energyPrice"},
    ),
    "results": (
        "POST",
        "/ancillary/results",
        [{"deliveryDay": "2030-01-01", "product": "POS_00_04", "results": [RESULT], "correction": False}],
        {"/0/results/0/settlementPrice", "/0/results/0/correction", "/0/correction"},
        {"/0/results/0/settlementPrice"},
    ),
    "fleet": ("POST", "/fleets", {"name": "North", "organisationID": ID, "physicalAssetIDs": []}, set(), set()),
}

WRONG: dict[type, list[Any]] = {
    str: [5, True, {}, []],
    bool: ["true", 1, {}],
    int: ["5", True, {}, []],
    float: ["5", True, {}, []],
    list: [{}, "x", 5],
    dict: [[], "x", 5],
    type(None): [5, True, {}],
}
OUT_OF_RANGE: dict[str, list[Any]] = {
    "Power": [-1, 1e300],
    "Capacity": [-1, 1e300],
    "Efficiency": [0, 1.01, -1],
    "StateOfCharge": [-0.1, 1.1],
    "Ratio": [-0.1, 1.1],
    "Limit": [0, -1],
    "rampRate": [0, -1],
    "charge": [-1],
    "power": [1e300, -1e300],
    "Price": [15000.01, -15000.01, 1.001, "1e400", "abc"],
    "name": ["", "x" * 201, "a\u0000b"],
    "title": ["", "x" * 201],
    "type": [""],
    "cause": ["", "x" * 501],
    "start": ["yesterday", "2026-12-01T10:00:00", "2026-12-01", "2300-01-01T00:00:00Z", "2026-13-01T00:00:00Z"],
    "validFrom": ["2026-12-01T10:00:00", "1960-01-01T00:00:00Z"],
    "Day": ["2026-02-30", "yesterday", "2026-12-01T10:00:00Z"],
    "product": ["POS_99", "", "x" * 41],
    "commissionedOn": ["2026-02-30", "1900-01-01"],
    "ID": ["one", "", "0000"],
    "eic": ["short", "lowercase-eic-01"],
    "Zone": ["Nowhere"],
    "Type": ["NOTHING"],
    "status": ["NOTHING"],
    "impact": ["GOOD"],
}


def steps(pointer: str) -> list[str]:
    return pointer.split("/")[1:]


def at(body: Any, pointer: str) -> Any:
    for step in steps(pointer):
        body = body[int(step)] if isinstance(body, list) else body[step]
    return body


def leaves(body: Any, pointer: str = "") -> Iterator[str]:
    """Every field, inner ones as well."""
    if isinstance(body, dict):
        for name, value in body.items():
            yield f"{pointer}/{name}"
            yield from leaves(value, f"{pointer}/{name}")
    elif isinstance(body, list):
        for position, value in enumerate(body):
            if isinstance(value, dict):
                yield from leaves(value, f"{pointer}/{position}")


def changed(body: Any, pointer: str, value: Any) -> Any:
    body = copy.deepcopy(body)
    *path, last = steps(pointer)
    parent = at(body, "".join(f"/{step}" for step in path))
    parent[last] = value
    return body


def without(body: Any, pointer: str) -> Any:
    body = copy.deepcopy(body)
    *path, last = steps(pointer)
    del at(body, "".join(f"/{step}" for step in path))[last]
    return body


async def prepared(owner: OrganisationUnderTest) -> tuple[Any, dict[str, str]]:
    asset = await register_asset(owner, eicCode=EIC)
    created = await owner.admin.post(asset.path("/unavailability"), json=UNAVAILABILITY)
    return asset, {"{unavailability}": created.json()["id"]}


async def send(asset, names, name, body):
    method, path, *_ = BODIES[name]
    for placeholder, value in names.items():
        path = path.replace(placeholder, value)
    if not path.startswith(("/physical-assets", "/fleets")):
        path = asset.path(path)
    return await asset.owner.admin.request(method, path, json=body)


@pytest.mark.parametrize("name", BODIES)
async def test_every_field_is_checked(new_organisation, name):
    asset, names = await prepared(await new_organisation())
    _, _, body, optional, nullable = BODIES[name]
    body = copy.deepcopy(body)
    if name in ("asset", "fleet"):
        body["organisationID"] = str(asset.owner.id)

    async def refused(label: str, pointer: str, sent: Any) -> None:
        answer = await send(asset, names, name, sent)
        assert answer.status_code in (400, 422), (label, pointer, answer.status_code, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        found = pointers(answer)
        assert any(
            each == pointer or each.startswith(f"{pointer}/") or pointer.startswith(f"{each}/") for each in found
        ), (
            label,
            pointer,
            answer.text,
        )

    for pointer in list(leaves(body)):
        value = at(body, pointer)
        if pointer not in optional and "*" not in optional:
            await refused("missing", pointer, without(body, pointer))
        if pointer not in nullable:
            await refused("null", pointer, changed(body, pointer, None))
        if value is not None:
            for wrong in WRONG[type(value)]:
                if wrong == "5" and pointer.endswith("Price"):
                    continue  # euros may come as decimal text
                await refused("wrong type", pointer, changed(body, pointer, wrong))
        field = steps(pointer)[-1]
        for part, values in OUT_OF_RANGE.items():
            if (field == part or (part[0].isupper() and field.endswith(part))) and not isinstance(value, list | dict):
                for outside in values:
                    if field == "messageID" and outside:
                        continue  # a name of the sender's own
                    if field == "settlementPrice" and outside in (15000.01, -15000.01):
                        continue
                    if field == "type" and name.startswith("logbook") and outside == "NOTHING":
                        continue
                    await refused("out of range", pointer, changed(body, pointer, outside))
    for pointer in ["", *(each for each in leaves(body) if isinstance(at(body, each), dict))]:
        inner = at(body, pointer)
        if isinstance(inner, dict):
            await refused("unknown", f"{pointer}/colour", changed(body, f"{pointer}/colour", "green"))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b"null",
        b"5",
        b'"x"',
        b"\xff\xfe",
        b'{"a":' * 10_000,
        b'{"schedule":[{"time":"2026-12-01T10:00:00Z","power":NaN}]}',
        b'{"schedule":[{"time":"2026-12-01T10:00:00Z","power":Infinity}]}',
        b'{"schedule":[{"time":"2026-12-01T10:00:00Z","power":1e999}]}',
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/schedule"),
        ("POST", "/unavailability"),
        ("POST", "/ancillary/bids"),
        ("POST", "/ancillary/results"),
        ("PUT", "/parameters"),
        ("PUT", "/metadata/site"),
        ("POST", "/logbook"),
        ("POST", "/exchange-notifications"),
    ],
)
async def test_what_is_no_such_json_is_refused(new_organisation, method, path, text):
    owner = await new_organisation()
    asset = await register_asset(owner)
    answer = await owner.admin.request(
        method, asset.path(path), content=text, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


async def test_numbers_that_are_not_finite_never_get_in(new_organisation):
    owner = await new_organisation()
    asset = await register_asset(owner)
    for value in (math.nan, math.inf, -math.inf):
        for answer in (
            await owner.admin.post(
                "/physical-assets",
                content=str(new_asset_body(owner, parameters={**PARAMETERS, "ratedChargePower": value}))
                .replace("'", '"')
                .encode(),
                headers={"Content-Type": "application/json"},
            ),
            await owner.admin.put(
                asset.path("/schedule"),
                content=f'{{"schedule":[{{"time":"{T0}","power":{value}}}]}}'.encode(),
                headers={"Content-Type": "application/json"},
            ),
        ):
            assert answer.status_code == 400


@pytest.mark.parametrize(
    "path", ["/unavailability", "/exchange-notifications", "/logbook", "/schedule", "/availability"]
)
@pytest.mark.parametrize("end", [T0, "2026-12-01T09:59:59Z"])
async def test_a_window_that_does_not_end_after_its_start_is_refused(new_organisation, path, end):
    asset = await register_asset(await new_organisation())
    answer = await asset.owner.viewer.get(asset.path(path), params={"start": T0, "end": end})
    assert answer.status_code == 400, answer.text
    assert pointers(answer) == ["query:end"]
