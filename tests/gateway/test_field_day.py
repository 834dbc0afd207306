"""A simulated day between platform and sites, with kills and a lost line: dispatch within limits, telemetry complete,
and the energy at the sites is the energy that is settled.

`make field-day` lives through 96 quarter-hours with 20 kills anywhere; CI through two hours, with six between the
turns of quarter-hours: what a process takes to start, at the pace of the real clock, would weigh too much there.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.field import (
    PASSWORD,
    USERNAME,
    Broker,
    Gateway,
    Platform,
    dispatch_of,
    modbus_battery,
    mqtt_battery,
    sleep_until,
)
from tests.gateway.line import Line
from tests.journeys.service import a_service
from tests.ports import free_port

from gridloom_gateway.simulated_sites import ModbusSite, MqttSite, SimulatedBattery

pytestmark = pytest.mark.slow  # a service of its own, a broker, a gateway, and waits for what is started again

PERIODS = int(os.environ.get("FIELD_PERIODS", "8"))
KILLS = int(os.environ.get("FIELD_KILLS", "6"))
IS_WHOLE_DAY = PERIODS >= 96
QUARTER, STOP = timedelta(minutes=15), timedelta(minutes=5)
STOPS = QUARTER // STOP
"""A sample counts for five minutes at most: the clock stops so often for the sites to measure."""
TOLERANCE = 0.001 if IS_WHOLE_DAY else 0.002
"""Of the energy; a second by which a busy machine is late is one of the day, and weighs more in two hours of it."""
LOST_PERIODS = 2
SEND_EVERY_S = 0.02
LIMIT_KW, CAPACITY_KWH, EFFICIENCY = 500.0, 4000.0, 0.95
NAMES = ("at-broker", "modbus-1", "modbus-2")


class FieldDay:
    """Three batteries whose time passes in steps of the sandbox's clock."""

    def __init__(self, directory: Path, platform: Platform, broker: Broker, seed: int) -> None:
        self.platform, self.broker, self.chance = platform, broker, random.Random(seed)
        self.line, self.gateway = Line(platform.service.port), Gateway(directory)
        self.assets = {name: platform.register(name) for name in NAMES}
        self.batteries = {
            name: SimulatedBattery(LIMIT_KW, CAPACITY_KWH, CAPACITY_KWH / 2, EFFICIENCY, EFFICIENCY) for name in NAMES
        }
        security = {"username": USERNAME, "password": PASSWORD, "context": broker.context}
        self.at_broker = MqttSite(self.batteries[NAMES[0]], NAMES[0], "127.0.0.1", broker.port, **security)
        self.modbus = [ModbusSite(self.batteries[name], free_port()) for name in NAMES[1:]]
        self.sites: list[MqttSite | ModbusSite] = [self.at_broker, *self.modbus]
        self.start = (platform.now() + timedelta(hours=2)).replace(minute=0, second=0, microsecond=0)
        self.end = self.start + PERIODS * QUARTER
        self.sent: set[int] = set()
        self.ahead_s = 0.0
        self.moving, self.is_over = threading.Lock(), threading.Event()
        self.sender = threading.Thread(target=self.send_samples)

    def prepare(self) -> None:
        self.platform.back_virtual_asset(list(self.assets.values()), self.start)
        for asset in self.assets.values():
            self.platform.schedule(asset, self.start, [10.0 * self.chance.randint(-40, 40) for _ in range(PERIODS)])
        dispatch, directory = dispatch_of(LIMIT_KW), self.gateway.directory
        batteries = [mqtt_battery(self.assets[NAMES[0]], NAMES[0], self.broker, directory, dispatch=dispatch)]
        for name, server in zip(NAMES[1:], self.modbus, strict=True):
            batteries.append(modbus_battery(self.assets[name], name, server.port, dispatch=dispatch))
        key = self.platform.make_key(*self.assets.values())
        self.gateway.configure(self.line.url, key, "".join(batteries), settings="clock_every_s = 0.1\n")
        self.move_clock(self.start - STOP)
        for site in self.sites:
            site.start()
        self.line.start()
        self.gateway.start()
        plans = [directory / "state" / "plans" / f"{asset}.json" for asset in self.assets.values()]
        sleep_until(lambda: all(plan.exists() for plan in plans))
        self.sender.start()

    def live(self) -> None:
        others = max(1, KILLS // 6)
        kills = ["gateway"] * (KILLS - 2 * others) + ["service", "broker"] * others
        stops = [place for place in range(STOPS * PERIODS) if IS_WHOLE_DAY or place % STOPS]
        victims = dict(zip(self.chance.sample(stops, len(kills)), kills, strict=True))
        lost = range(PERIODS // 2 * STOPS, (PERIODS // 2 + LOST_PERIODS) * STOPS)
        for place in range(STOPS * PERIODS):
            self.line.is_lost = place in lost
            self.move_clock(self.start + place * STOP)
            self.kill(victims.get(place))
            self.await_set_points(self.start + place // STOPS * QUARTER)
            self.await_samples()
        self.move_clock(self.end)

    def move_clock(self, to: datetime) -> None:
        """The sites' energy flows for as long as the clock is moved, before anybody sees where it stands."""
        with self.moving:
            seconds = (to - self.platform.now()).total_seconds()
            for battery in self.batteries.values():
                battery.pass_time(seconds)
            self.platform.move_clock(to)
            self.ahead_s = self.platform.now().timestamp() - time.time()

    def send_samples(self) -> None:
        """What the meter at the broker measures."""
        while not self.is_over.wait(SEND_EVERY_S):
            with self.moving:
                instant_s = time.time() + self.ahead_s
                self.at_broker.send(instant_s)
                if self.start.timestamp() <= instant_s < self.end.timestamp():
                    self.sent.add(round(instant_s * 1000))

    def kill(self, victim: str | None) -> None:
        if victim == "gateway":
            self.gateway.kill()
            self.gateway.start()
        elif victim == "broker":
            self.broker.kill()
            self.broker.start()
        elif victim == "service":
            self.platform.service.kill_everything()
            self.platform.service.start()

    def await_set_points(self, period: datetime) -> None:
        asked_kw = {name: self.platform.dispatched(asset, period) for name, asset in self.assets.items()}

        def follow() -> bool:
            return all(abs(self.batteries[name].power_kw - (asked or 0.0)) < 0.1 for name, asked in asked_kw.items())

        assert None not in asked_kw.values()
        sleep_until(follow)

    def await_samples(self) -> None:
        """Until each site has measured since the clock was moved."""
        # The second answer is asked for once the first was taken in.
        clock_reads, reads = self.line.clock_reads + 2, [site.reads + 3 for site in self.modbus]
        sleep_until(lambda: self.line.clock_reads >= clock_reads)
        sleep_until(lambda: all(site.reads >= wanted for site, wanted in zip(self.modbus, reads, strict=True)))

    def count_missing(self) -> int:
        """Samples of the meter that the platform does not have."""
        return len(self.sent - self.platform.read(self.assets[NAMES[0]], "active_power", self.start).keys())

    def ask(self, name: str, what: str) -> list[Any]:
        window = f"start={self.start:%Y-%m-%dT%H:%M:%SZ}&end={self.end:%Y-%m-%dT%H:%M:%SZ}"
        return list(self.platform.ask("GET", f"/physical-assets/{self.assets[name]}/{what}?{window}")[what])

    def stop(self) -> None:
        self.is_over.set()
        if self.gateway.process is not None:
            self.gateway.stop()
        for site in self.sites:
            site.stop()
        self.line.stop()


@pytest.fixture
def day(tmp_path: Path) -> Iterator[FieldDay]:
    broker = Broker(tmp_path)
    broker.start()
    with a_service(GRIDLOOM_WORKERS="1") as service:
        service.start()
        made = FieldDay(tmp_path, Platform(service), broker, seed=1)
        yield made
        made.stop()
    broker.stop()


def test_a_day_with_kills_and_a_lost_line_is_dispatched_measured_and_settled(day: FieldDay) -> None:
    day.prepare()
    day.live()
    day.is_over.set()
    day.sender.join()
    sleep_until(lambda: day.count_missing() == 0, 60)
    off: dict[str, float] = {}
    shares: dict[str, float] = {}
    for name, battery in day.batteries.items():
        assert all(abs(power_kw) <= LIMIT_KW for _, power_kw in battery.set_points)
        assert {one["acknowledgement"]["status"] for one in day.ask(name, "dispatch")} == {"APPLIED"}
        settled = day.ask(name, "performance")
        shares[name] = min(one["measuredShare"] for one in settled)
        moved_kwh, net_kwh = battery.fed_in_kwh + battery.drawn_kwh, battery.fed_in_kwh - battery.drawn_kwh
        for of in ("measuredPower", "dispatchedPower"):
            off[f"{name} {of}"] = abs(sum(one[of] for one in settled) / 4 - net_kwh) / moved_kwh
            print(f"{name}: {moved_kwh:.1f} kWh moved, {of} off by {off[f'{name} {of}']:.4%}")
    assert min(shares.values()) > 0.99, shares
    assert max(off.values()) < TOLERANCE, off
