"""Mistakes against what holds everywhere, and around the clock of the sandbox."""

from __future__ import annotations

from tests.simulation.actors.mistakes.making import mistake, on_battery
from tests.simulation.calls import Request
from tests.simulation.model import Battery, World
from tests.simulation.steps import Pick


@mistake(422, "clock-walk-too-long")
def leap(world: World, pick: Pick) -> Request | None:
    return Request("moveClock", world.operator.admin, "PUT", "/sandbox/clock", {"advance": "P40D"})


@mistake(404, "no-clock-walk")
def stop_still_clock(world: World, pick: Pick) -> Request | None:
    return Request("stopClockWalk", world.operator.admin, "DELETE", "/sandbox/clock/walk")


@mistake(409, "no-simulator")
def steer_nothing(world: World, pick: Pick) -> Request | None:
    return Request("steerSimulator", world.operator.admin, "PUT", "/sandbox/simulator", {"running": True})


@mistake(422, "address-not-allowed")
def call_private_address(world: World, pick: Pick) -> Request | None:
    body = {"url": "http://192.168.0.1/hook", "types": ["bid.placed"]}
    return Request("createWebhook", pick.of(world.traders).admin, "POST", "/webhooks", body)


@mistake(406, "not-acceptable")
def ask_for_a_picture(world: World, pick: Pick) -> Request | None:
    by = pick.of(world.traders).viewer
    return Request("listAuctions", by, "GET", "/auctions", headers={"Accept": "image/png"})


@mistake(415, "unsupported-media-type")
def send_text(world: World, pick: Pick) -> Request | None:
    headers = {"Content-Type": "text/plain"}
    body = {"url": "http://127.0.0.1:9/hook", "types": ["bid.placed"]}
    return Request("createWebhook", pick.of(world.traders).admin, "POST", "/webhooks", body, headers=headers)


@mistake(413, "payload-too-large")
def send_megabytes(world: World, pick: Pick) -> Request | None:
    body = {"url": "http://127.0.0.1:9/hook", "types": [], "description": "x" * (11 << 20)}
    return Request("createWebhook", pick.of(world.traders).admin, "POST", "/webhooks", body)


@on_battery(413, "too-many-points")
def send_millions_of_points(world: World, pick: Pick, battery: Battery) -> Request | None:
    body = {"active_power": {"time": ["," * 7_000_000], "value": [1]}}
    return Request("writeDatapoints", battery.owner.engineer, "POST", f"/monitoring/{battery.id}/datapoints", body)
