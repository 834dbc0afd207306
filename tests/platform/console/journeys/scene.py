"""A small world for browsers to look at, made through the interface as its people would make it."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
from tests.people import PASSWORD

BERLIN = ZoneInfo("Europe/Berlin")
RATIO = {"chargeEfficiency": 0.94, "dischargeEfficiency": 0.94}


@dataclass
class Somebody:
    """A person with a token of their own, beside the browser's session."""

    username: str
    organisation_id: str
    client: httpx2.Client

    def post(self, path: str, body: Any) -> Any:
        return _answered(self.client.post(path, json=body))

    def put(self, path: str, body: Any) -> Any:
        return _answered(self.client.put(path, json=body))

    def change(self, path: str, body: Any) -> Any:
        return _answered(self.client.request("PATCH", path, json=body))

    def get(self, path: str, **query: str) -> Any:
        return _answered(self.client.get(path, params=query))


@dataclass
class Scene:
    base_url: str
    operator: Somebody
    owner: Somebody
    trader: Somebody
    rival: Somebody
    colleague: Somebody
    """Of the trader's organisation."""
    engineer: Somebody
    """Of the owner's organisation."""
    assets: dict[str, str] = field(default_factory=dict)
    auctions: dict[str, str] = field(default_factory=dict)
    virtual_asset_id: str = ""
    database_url: str = ""
    restart: Callable[[], None] = lambda: None
    """Ends the service and starts it anew at the same address."""

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(self.operator.get("/sandbox/clock")["now"])

    def advance(self, span: str) -> None:
        self.operator.put("/sandbox/clock", {"advance": span})


def make_scene(base_url: str, operator_username: str = "operator", password: str = PASSWORD) -> Scene:
    operator = _sign_in(base_url, operator_username, password)
    _go_to_morning(operator)
    trader = new_member(base_url, operator, "Nordlicht Trading", "trader")
    owner = new_member(base_url, operator, "Hanse Storage", "owner")
    scene = Scene(
        base_url,
        operator,
        owner=owner,
        trader=trader,
        rival=new_member(base_url, operator, "Südwind Energie", "rival"),
        colleague=_join(base_url, trader, trader.organisation_id, "jonas", "TRADER", "Jonas Petersen"),
        engineer=_join(base_url, owner, owner.organisation_id, "lena", "ENGINEER", "Lena Brandt"),
    )
    # She ends her own sessions: no other journey depends on them.
    _join(base_url, trader, trader.organisation_id, "mia", "VIEWER", "Mia Wolf")
    _publish_prices(scene)
    _make_batteries(scene)
    _hold_past_auctions(scene)
    _hold_open_auctions(scene)
    _settle_trades(scene)
    _tell_telemetry(scene)
    _keep_records(scene)
    return scene


def _go_to_morning(operator: Somebody) -> None:
    """Whatever time it is, the scene plays on one day: what is tomorrow at its start is tomorrow to all journeys."""
    now = datetime.fromisoformat(operator.get("/sandbox/clock")["now"])
    operator.put("/sandbox/clock", {"now": (_midnight(now, 1) + timedelta(hours=8)).isoformat()})


def _answered(answer: httpx2.Response) -> Any:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
    return answer.json() if answer.content else None


class SignedIn(httpx2.Auth):
    """Signs in at the first request, and again when the token has ended: journeys may take longer than one lives."""

    requires_response_body = True

    def __init__(self, username: str, password: str) -> None:
        self._credentials = {"username": username, "password": password}
        self._token: str | None = None

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
            if (yield request).status_code != 401:
                return
        address = request.url.copy_with(raw_path=b"/auth/public/authenticate")
        self._token = _answered((yield httpx2.Request("POST", address, json=self._credentials)))["access_token"]
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


def _sign_in(base_url: str, username: str, password: str) -> Somebody:
    # A connection that rests for seconds is closed by the service, perhaps just when it is needed.
    limits = httpx2.Limits(max_keepalive_connections=0)
    client = httpx2.Client(base_url=base_url, timeout=60, limits=limits, auth=SignedIn(username, password))
    return Somebody(username, _answered(client.get("/auth/me"))["organisationID"], client)


def new_member(base_url: str, operator: Somebody, name: str, username: str) -> Somebody:
    organisation = operator.post("/organisations", {"name": name, "kind": "PARTICIPANT"})["id"]
    return _join(base_url, operator, organisation, username, "ADMIN", username.capitalize())


def _join(base_url: str, host: Somebody, organisation: str, username: str, role: str, display_name: str) -> Somebody:
    invitation = host.post(
        f"/organisations/{organisation}/invitations", {"email": f"{username}@example.org", "role": role}
    )
    acceptance = {"token": invitation["token"], "username": username, "password": PASSWORD, "displayName": display_name}
    with httpx2.Client(base_url=base_url, timeout=60) as anyone:
        _answered(anyone.post("/auth/public/invitations/accept", json=acceptance))
    return _sign_in(base_url, username, PASSWORD)


def _make_batteries(scene: Scene) -> None:
    for name, zone, power_mw, energy_mwh in (
        ("Stade", "TenneT", 40, 80),
        ("Wilster", "TenneT", 25, 50),
        ("Wolmirstedt", "50Hertz", 25, 50),
        ("Hürth", "Amprion", 20, 40),
    ):
        rating = {
            "ratedChargePower": power_mw * 1000,
            "ratedDischargePower": power_mw * 1000,
            "energyCapacity": energy_mwh * 1000,
            "dailyCycleLimit": 2,
            **RATIO,
        }
        body = {"name": name, "organisationID": scene.owner.organisation_id, "deliveryZone": zone, "parameters": rating}
        if name == "Stade":
            body["eicCode"] = "11WSPEICHER1---L"
        scene.assets[name] = scene.owner.post("/physical-assets", body)["id"]
    seen = {"permissions": ["Read:physical-assets", "Read:schedules", "Read:monitoring"]}
    for asset_id in scene.assets.values():
        scene.owner.put(f"/physical-assets/{asset_id}/grants/{scene.operator.organisation_id}", seen)
    fleet = list(scene.assets.values())
    scene.owner.post(
        "/fleets",
        {"name": "Hanse fleet", "organisationID": scene.owner.organisation_id, "physicalAssetIDs": fleet},
    )


def _publish_prices(scene: Scene) -> None:
    """Day-ahead prices until the day after tomorrow: low at noon, high in the evening, each day a little other."""
    rows = []
    for day in range(-40, 3):
        start, end = _midnight(scene.now, day), _midnight(scene.now, day + 1)
        quarters = int((end - start) / timedelta(minutes=15))
        for quarter in range(quarters):
            hour = quarter / 4
            price = 70 - 45 * math.exp(-(((hour - 13) / 3) ** 2)) + 70 * math.exp(-(((hour - 18.5) / 2) ** 2))
            moment = start + timedelta(minutes=15 * quarter)
            until = moment + timedelta(minutes=15)
            span = {"start": moment.isoformat(), "end": until.isoformat()}
            rows.append({"series": "DAY_AHEAD_DE_LU", **span, "price": round(price + 9 * math.sin(day), 2)})
    scene.operator.post("/reference-prices", rows)


def _midnight(moment: datetime, days: int) -> datetime:
    day = (moment.astimezone(BERLIN) + timedelta(days=days)).date()
    return datetime(day.year, day.month, day.day, tzinfo=BERLIN).astimezone(UTC)


def _auction(
    scene: Scene,
    name: str,
    *,
    opens_in: timedelta,
    lasts: timedelta,
    power_mw: float,
    backing: str,
    days: tuple[int, int],
) -> None:
    now = scene.now
    zones = {"Stade": "TenneT", "Wilster": "TenneT", "Wolmirstedt": "50Hertz", "Hürth": "Amprion"}
    item = {
        "start": _midnight(now, days[0]).isoformat(),
        "end": _midnight(now, days[1]).isoformat(),
        "deliveryZone": zones[backing],
        "ratedChargePower": power_mw * 1000,
        "ratedDischargePower": power_mw * 1000,
        "energyCapacity": power_mw * 2000,
        "dailyCycleLimit": 2,
        **RATIO,
    }
    body = {
        "start": (now + opens_in).isoformat(),
        "end": (now + opens_in + lasts).isoformat(),
        "item": item,
        "hurdlePrice": "1000.00",
        "backing": [{"physicalAssetID": scene.assets[backing], "share": 1}],
        "participants": [scene.trader.organisation_id, scene.rival.organisation_id],
    }
    scene.auctions[name] = scene.operator.post("/auctions", body)["id"]


def _bid(somebody: Somebody, auction_id: str, price: str) -> None:
    somebody.post(f"/auctions/{auction_id}/bids", {"price": price})


def _hold_past_auctions(scene: Scene) -> None:
    soon, hour = timedelta(seconds=20), timedelta(hours=1)
    _auction(scene, "won", opens_in=soon, lasts=hour, power_mw=12, backing="Stade", days=(1, 8))
    _auction(scene, "lost", opens_in=soon, lasts=hour, power_mw=8, backing="Wilster", days=(1, 5))
    _auction(scene, "unbid", opens_in=soon, lasts=hour, power_mw=5, backing="Wolmirstedt", days=(1, 3))
    scene.advance("PT30S")
    for price in ("12900.00", "13480.00"):
        _bid(scene.trader, scene.auctions["won"], price)
    _bid(scene.rival, scene.auctions["won"], "11000.00")
    _bid(scene.trader, scene.auctions["lost"], "6000.00")
    _bid(scene.rival, scene.auctions["lost"], "9100.00")
    scene.advance("PT2H")
    scene.virtual_asset_id = scene.trader.get(f"/auctions/{scene.auctions['won']}")["virtualAssetID"]


def _hold_open_auctions(scene: Scene) -> None:
    soon = timedelta(seconds=20)
    _auction(scene, "open", opens_in=soon, lasts=timedelta(minutes=40), power_mw=16, backing="Stade", days=(2, 9))
    _auction(scene, "later", opens_in=soon, lasts=timedelta(hours=4), power_mw=10, backing="Wolmirstedt", days=(3, 4))
    _auction(scene, "long", opens_in=soon, lasts=timedelta(hours=23), power_mw=8, backing="Wilster", days=(6, 12))
    ahead = timedelta(hours=5)
    _auction(scene, "ahead", opens_in=ahead, lasts=timedelta(hours=4), power_mw=6, backing="Hürth", days=(4, 10))
    scene.advance("PT30S")
    for price in ("19000.00", "20400.00", "21200.00"):
        _bid(scene.trader, scene.auctions["open"], price)
    _bid(scene.trader, scene.auctions["long"], "7650.00")


def _settle_trades(scene: Scene) -> None:
    """Twelve days of a battery's own trades, bought at noon and sold in the evening, and of FCR awards; and one day
    in the middle of last month, so that there is a month to issue."""
    trades, awards = [], []
    today = scene.now.astimezone(BERLIN).date()
    last_month = (today.replace(day=1) - timedelta(days=15)) - today
    for day in (last_month.days, *range(-12, 0)):
        midnight = _midnight(scene.now, day)
        for number in range(8):
            for side, hour, price in (("BUY", 12, 38.5), ("SELL", 18, 131.25)):
                moment = midnight + timedelta(hours=hour, minutes=15 * number)
                trades.append(
                    {
                        "tradeID": f"T{day}{side}{number}",
                        "assetID": scene.assets["Stade"],
                        "time": moment.isoformat(),
                        "side": side,
                        "volume": 1.5 + 0.2 * number,
                        "price": price + day,
                        "market": "DAY_AHEAD",
                    }
                )
        on = midnight.astimezone(BERLIN).date().isoformat()
        award = {"assetID": scene.assets["Stade"], "deliveryDay": on, "product": "NEGPOS_00_04"}
        awards.append({**award, "capacity": 4, "settlementPrice": 11.5})
    scene.operator.post("/settlements/wholesale-trades", trades)
    scene.operator.post("/settlements/fcr", awards)


def _tell_telemetry(scene: Scene) -> None:
    """Six hours by the minute: a slow wave of power, and the state of charge that goes with it."""
    now = scene.now.replace(second=0, microsecond=0)
    times = [now - timedelta(minutes=minute) for minute in range(360, -1, -1)]
    charge, powers, charges = 50.0, [], []
    for minute in range(len(times)):
        power = -9_000 * math.sin(minute / 55) + 300 * math.sin(minute * 1.7)
        charge -= power / 60 / 80_000 * 100
        powers.append(round(power, 1))
        charges.append(round(charge, 3))
    stamps = [time.isoformat() for time in times]
    temperature = [round(22 + 2 * math.sin(minute / 90), 2) for minute in range(len(times))]
    for name in ("Stade", "Wilster"):
        columns = {
            "active_power": {"time": stamps, "value": powers},
            "state_of_charge": {"time": stamps, "value": charges},
            "temperature": {"time": stamps, "value": temperature},
        }
        scene.owner.post(f"/monitoring/{scene.assets[name]}/datapoints", columns)


def _keep_records(scene: Scene) -> None:
    stade = f"/physical-assets/{scene.assets['Stade']}"
    now = scene.now

    def missing(kind: str, start_days: float, hours: float, power_mw: float, description: str) -> None:
        start = _midnight(now, 0) + timedelta(days=start_days)
        power = {"charge": power_mw * 1000, "discharge": power_mw * 1000}
        scene.owner.post(
            f"{stade}/unavailability",
            {
                "description": description,
                "type": kind,
                "start": start.isoformat(),
                "end": (start + timedelta(hours=hours)).isoformat(),
                "volume": {"energyCapacity": power_mw * 1000, "powerCapacity": power},
            },
        )

    missing("TESTING", 1.4, 2, 8, "Protection test")
    missing("GRID_CONSTRAINT", 2.5, 4, 8, "Constraint at the substation")
    missing("MAINTENANCE", 7.3, 8, 16, "Inverter maintenance")
    scene.owner.post(
        f"{stade}/logbook",
        {
            "title": "Back at full power",
            "description": "Inverter control board replaced, tested at ±40 MW",
            "type": "OTHER",
            "impact": "POSITIVE",
            "start": (now - timedelta(days=2)).isoformat(),
        },
    )
    day = (now.astimezone(BERLIN) + timedelta(days=3)).date().isoformat()
    steps = [{"capacityPrice": "480.00", "offeredCapacity": 2000}]
    products = [f"NEGPOS_{hour:02}_{hour + 4:02}" for hour in range(0, 24, 4)]
    scene.owner.post(
        f"{stade}/ancillary/bids", [{"deliveryDay": day, "product": product, "bids": steps} for product in products]
    )


if __name__ == "__main__":
    import sys

    made = make_scene(sys.argv[1])
    print(made.assets, made.auctions, made.virtual_asset_id)
