"""What trading asks of a worker, and files that cost more than they weigh: one organisation against another.

Each attack is measured beside the calm service of the same run, as those on fair shares are.
"""

from __future__ import annotations

import gzip
import http.client
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bench.attack_harness import ASSET, Scene, Seen
from bench.attack_reads import compare_both, make_patient
from bench.attack_shares import ask, find_rivals, flood
from bench.virtual_assets import Battery

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ORDERED_DAYS = 50
SCHEDULED_ASSETS = 50
RATED: dict[str, Any] = ASSET["parameters"]  # type: ignore[assignment]


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _read_tag(battery: Battery, path: str) -> str:
    """The ETag that a change has to name."""
    host, _, port = battery.client.address.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {battery.client.token}"})
        response = connection.getresponse()
        response.read()
        return str(response.getheader("etag"))
    finally:
        connection.close()


def _refused_orders(battery: Battery) -> bytes:
    """As many as a request may have, each of a day of its own and beyond its energy: all are judged, none is placed."""
    orders = []
    for number in range(ORDERED_DAYS):
        start = battery.start + timedelta(days=3 + number)
        schedule = [{"time": _at(start + timedelta(hours=8, minutes=15 * n)), "power": 1000} for n in range(40)]
        orders.append(
            {
                "virtualAssetID": battery.asset["id"],
                "ifMatch": _read_tag(battery, f"{battery.url}/markets?delivery-day={start:%Y-%m-%d}"),
                "stage": "DAY_AHEAD",
                "deliveryDay": f"{start:%Y-%m-%d}",
                "schedule": schedule,
            }
        )
    return json.dumps(orders).encode()


def _flood(scene: Scene, count: int, *requests: Callable[[], int]) -> Callable[[], Any]:
    return lambda: flood(count, *map(make_patient, requests))


def refused_orders(scene: Scene) -> list[Seen]:
    battery, address = find_rivals(scene).attacker, scene.harness.address
    body = _refused_orders(battery)
    path = f"/organisations/{battery.organisation.id}/orders"
    request = partial(ask, address, battery.client.token, "POST", path, body)
    return compare_both(scene, f"9 12 × {ORDERED_DAYS} orders that are refused", _flood(scene, 12, request))


def portfolio_schedules(scene: Scene) -> list[Seen]:
    """As many assets as a request may have, of which the last is refused: all are judged, nothing is written."""
    battery, address = find_rivals(scene).attacker, scene.harness.address
    path, body = _refused_schedules(scene, battery)
    request = partial(ask, address, battery.client.token, "PUT", path, body)
    return compare_both(scene, f"9 12 × {SCHEDULED_ASSETS} schedules of a portfolio", _flood(scene, 12, request))


def _refused_schedules(scene: Scene, battery: Battery) -> tuple[str, bytes]:
    organisation, rated = f"/organisations/{battery.organisation.id}", RATED
    place = {"organisationID": battery.organisation.id, "deliveryZone": "TenneT"}
    physical = scene.harness.operator.post("/physical-assets", {"name": "Portfolio", **place, "parameters": rated})
    part = {**rated, **{name: rated[name] / SCHEDULED_ASSETS for name in rated if "Efficiency" not in name}}
    terms = {name: battery.asset[name] for name in ("start", "end")}
    backing = [{"physicalAssetID": physical["id"], "share": 1}]
    asset_ids = [
        scene.harness.operator.post(
            f"{organisation}/virtual-assets",
            {"name": f"Part {number}", **terms, "deliveryZone": "TenneT", **part, "backing": backing},
        )["id"]
        for number in range(SCHEDULED_ASSETS)
    ]
    portfolio = battery.client.post(f"{organisation}/portfolios", {"name": "All", "virtualAssetIDs": asset_ids})
    entries = [
        {
            "virtualAssetID": asset_id,
            "ifMatch": _read_tag(battery, f"{organisation}/virtual-assets/{asset_id}"),
            **battery.schedule([-1.0] * 96 * 7 if asset_id != asset_ids[-1] else [10_000.0]),
        }
        for asset_id in asset_ids
    ]
    return f"{organisation}/portfolios/{portfolio['id']}/schedules", json.dumps({"schedules": entries}).encode()


def plans_and_benchmarks(scene: Scene) -> list[Seen]:
    """Plans of a stage, headroom beside an outage, a year's benchmark and forecasts of every series."""
    battery, address = find_rivals(scene).attacker, scene.harness.address
    ask_attacker = partial(ask, address, battery.client.token)
    day = f"{battery.start + timedelta(days=2):%Y-%m-%d}"
    plan = json.dumps({"deliveryDay": day, "stage": "DAY_AHEAD"}).encode()
    past = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    year = f"start={_at(past - timedelta(days=366))}&end={_at(past - timedelta(days=1))}"
    week = f"start={_at(battery.start)}&end={_at(battery.start + timedelta(days=7))}"
    requests: Sequence[Callable[[], int]] = (
        partial(ask_attacker, "POST", f"{battery.url}/market-plans", plan),
        partial(ask_attacker, "GET", f"/revenue-reporting/virtual-assets/{battery.asset['id']}/benchmark?{year}"),
        partial(ask_attacker, "GET", f"{battery.url}/headroom?{week}"),
        partial(ask_attacker, "GET", f"/forecasts/IDA1_DE_LU?delivery-day={day}"),
    )
    _break_schedule(scene, battery)
    return compare_both(scene, "9 24 of plans, benchmarks, headroom", _flood(scene, 24, *requests))


def _break_schedule(scene: Scene, battery: Battery) -> None:
    """A full schedule, and an outage that cuts it: what headroom is found by is tried out."""
    days = [-400.0] * 8 + [0.0] * 40 + [324.0] * 8 + [0.0] * 40
    battery.client.put(f"{battery.url}/schedule", battery.schedule(days * 30))
    physical = battery.asset["backing"][0]["physicalAssetID"]
    body = {
        "description": "Bench",
        "type": "OUTAGE",
        "start": _at(battery.start + timedelta(days=8)),
        "end": _at(battery.start + timedelta(days=20)),
        "volume": {"energyCapacity": 1000, "powerCapacity": {"charge": 900, "discharge": 900}},
    }
    scene.harness.operator.post(f"/physical-assets/{physical}/unavailability", body)


def workbooks(scene: Scene) -> list[Seen]:
    """The largest workbooks that there are, over and over."""
    battery, scene_port = find_rivals(scene).attacker, scene.port
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=10)
    window = f"start={_at(start)}&end={_at(start + timedelta(days=85))}&resolution=15-minute"
    path = f"/revenue-reporting/virtual-assets/{battery.asset['id']}/data-points?{window}"
    return compare_both(
        scene, "9 12 workbooks", _flood(scene, 12, partial(_get_as, scene_port, battery.client.token, path, XLSX))
    )


def _get_as(port: int, token: str | None, path: str, media_type: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Accept": media_type})
        response = connection.getresponse()
        response.read()
        return response.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def line_protocol(scene: Scene) -> list[Seen]:
    """Lines that only the slow reader takes, just below what goes to a process of its own, and gzip that unpacks to
    the largest body."""
    battery = find_rivals(scene).attacker
    token = battery.client.token
    asset = battery.asset["backing"][0]["physicalAssetID"]
    odd = "\n".join(f'm\\ {n % 50},asset={asset} a="x y",b={n}.5 {1_700_000_000 + n}' for n in range(12_000))
    bombs = gzip.compress(f"m,asset={asset} a=1\n".encode() * 900_000), gzip.compress(b"m,asset=" + b"x" * 60_000_000)

    def send(body: bytes, encoding: str | None = None) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", scene.port, timeout=60)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/plain"}
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        try:
            connection.request("POST", "/monitoring/write?precision=s", body, headers)
            response = connection.getresponse()
            response.read()
            return response.status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    requests = [partial(send, odd.encode()[:1_000_000]), *(partial(send, bomb, "gzip") for bomb in bombs)]
    return compare_both(scene, "9 12 of odd lines and packed ones", _flood(scene, 12, *requests))
