"""The gateway between a real broker, Modbus servers and a service, with all of them killed and started again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
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
from tests.journeys.service import a_service
from tests.ports import free_port

from gridloom_gateway.configuration import Dispatch, Modbus, RegisterSetPoint
from gridloom_gateway.connection import SetPoint
from gridloom_gateway.modbus import ModbusConnection
from gridloom_gateway.simulated_sites import ModbusSite, MqttSite, SimulatedBattery

pytestmark = pytest.mark.slow  # a service of its own, a broker, and waits for what is started again

QUARTER = timedelta(minutes=15)


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with a_service(GRIDLOOM_WORKERS="1") as service:
        service.start()
        yield Platform(service)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    made = Gateway(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


class Meter:
    """Publishes what a test tells it to."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.name = name
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id=f"meter-{name}")
        self._client.username_pw_set(USERNAME, PASSWORD)
        self._client.tls_set_context(broker.context)
        self._client.reconnect_delay_set(1, 1)
        self._client.connect("127.0.0.1", broker.port)
        self._client.loop_start()

    def send(self, time_ms: int, kw: float) -> None:
        payload = json.dumps({"ts": time_ms, "power": {"active": -1000 * kw}, "soc": 0.5})
        self._client.publish(f"{self.name}/meter", payload, qos=1)

    def publish(self, topic: str, payload: bytes) -> None:
        self._client.publish(f"{self.name}/{topic}", payload, qos=1).wait_for_publish(10)

    def stop(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class TestTelemetry:
    def test_that_is_none_is_counted_and_dropped(self, platform: Platform, broker: Broker, gateway: Gateway) -> None:
        asset = platform.register("odd")
        gateway.configure(platform.url, platform.make_key(asset), mqtt_battery(asset, "odd", broker, gateway.directory))
        gateway.start()
        meter = Meter(broker, "odd")
        sleep_until(lambda: broker_knows(broker, gateway))
        start = platform.now().replace(microsecond=0)
        for payload in (b"", b"no json", b"{" * 100_000, b'{"ts": 1, "soc": 0.5}', b"[1]", b'{"ts": "x", "soc": 1}'):
            meter.publish("meter", payload)
        for payload in (b"nan", b'"inf"', b'"warm"', b"x" * 300_000, b"21.5"):
            meter.publish("temperature", payload)
        sleep_until(lambda: 21.5 in platform.read(asset, "temperature", start - timedelta(hours=1)).values())
        assert gateway.stop() == 0
        for reason in ("cannot be read", "too long", "not finite", "year 2000", "not a number"):
            assert gateway.log.count(reason) == 1, "logged once"
        meter.stop()

    def test_of_the_past_and_the_present_arrives_after_a_lost_line(
        self, platform: Platform, broker: Broker, gateway: Gateway
    ) -> None:
        """What comes in after the line is back need not wait for what waits."""
        asset, start = platform.register("late"), platform.now().replace(microsecond=0)
        gateway.configure("http://127.0.0.1:9", "nobody", mqtt_battery(asset, "late", broker, gateway.directory))
        gateway.start()
        meter = Meter(broker, "late")
        sleep_until(lambda: broker_knows(broker, gateway))
        for number in range(500):
            meter.send(round(start.timestamp() * 1000) + number, float(number))
        sleep_until(lambda: waiting_bytes(gateway) > 500 * 36)
        gateway.kill()
        gateway.configure(
            platform.url, platform.make_key(asset), mqtt_battery(asset, "late", broker, gateway.directory)
        )
        gateway.start()
        sleep_until(lambda: len(platform.read(asset, "active_power", start)) == 500)
        meter.stop()

    def test_goes_on_once_the_disk_takes_files_again(
        self, platform: Platform, broker: Broker, gateway: Gateway
    ) -> None:
        asset, start = platform.register("full"), platform.now().replace(microsecond=0)
        gateway.configure(
            platform.url, platform.make_key(asset), mqtt_battery(asset, "full", broker, gateway.directory)
        )
        (in_the_way := gateway.directory / "state" / "spool" / "sent.json.new").mkdir(parents=True)
        gateway.start()
        meter = Meter(broker, "full")
        sleep_until(lambda: broker_knows(broker, gateway))
        meter.send(round(start.timestamp() * 1000), 1.0)
        sleep_until(lambda: "spool cannot be read or written" in gateway.log)
        in_the_way.rmdir()
        meter.send(round(start.timestamp() * 1000) + 1, 2.0)
        sleep_until(lambda: list(platform.read(asset, "active_power", start).values()) == [1.0, 2.0])
        meter.stop()


class TestDispatch:
    def test_reaches_both_kinds_of_sites_and_goes_on_without_the_line(
        self, platform: Platform, broker: Broker, gateway: Gateway
    ) -> None:
        names = ("by-mqtt", "by-modbus", "too-much", "stuck")
        assets = {name: platform.register(name) for name in (*names, "in-reserve")}
        ports = {name: free_port() for name in names[1:]}
        batteries = {name: SimulatedBattery(1000, 4000, 2000) for name in names}
        batteries["stuck"].is_stuck = True
        sites = [ModbusSite(batteries[name], port) for name, port in ports.items()]
        security = {"username": USERNAME, "password": PASSWORD, "context": broker.context}
        at_broker = MqttSite(batteries["by-mqtt"], "by-mqtt", "127.0.0.1", broker.port, **security)
        first = (platform.now() + timedelta(hours=2)).replace(minute=0, second=0, microsecond=0)
        platform.back_virtual_asset(list(assets.values()), first)
        for asset in assets.values():
            platform.schedule(asset, first, [400.0, -200.0])
        limits = {"too-much": dispatch_of(300.0), "stuck": dispatch_of(follow_within_s=1.5)}
        at_brokers = {"by-mqtt": dispatch_of(ramp_kw_per_s=1000), "in-reserve": dispatch_of(follow_within_s=1.5)}
        configured = "".join(
            mqtt_battery(assets[name], name, broker, gateway.directory, dispatch=dispatch)
            for name, dispatch in at_brokers.items()
        ) + "".join(
            modbus_battery(assets[name], name, port, dispatch=limits.get(name, dispatch_of()))
            for name, port in ports.items()
        )
        gateway.configure(platform.url, platform.make_key(*assets.values()), configured)
        platform.move_clock(first)
        sleep_until(lambda: {platform.dispatched(one, first) for one in assets.values()} == {400.0})
        for site in sites:
            site.start()
        at_broker.start()
        meter = Meter(broker, "in-reserve")
        for path in ("acknowledgements.json.new", f"plans/{assets['by-mqtt']}.json.new"):
            (gateway.directory / "state" / path).mkdir(parents=True)  # the disk refuses, and dispatch goes on
        gateway.start()
        sleep_until(lambda: broker_knows(broker, gateway))
        meter.publish("reserve", b"100")
        meter.send(round(first.timestamp() * 1000) + 1000, 500.0)
        try:
            for name in ("by-mqtt", "by-modbus"):
                sleep_until(partial(has_power, batteries[name], 400.0))
                sleep_until(partial(is_last, platform, assets[name], "APPLIED"))
            sleep_until(lambda: "NOT_FOLLOWED" in platform.acknowledged(assets["stuck"]))
            sleep_until(lambda: "REJECTED" in platform.acknowledged(assets["too-much"]))
            assert "NOT_FOLLOWED" not in platform.acknowledged(assets["in-reserve"]), "100 kW are its reserve"
            meter.publish("reserve", b"0")
            sleep_until(lambda: "NOT_FOLLOWED" in platform.acknowledged(assets["in-reserve"]))
            meter.stop()
            assert batteries["too-much"].set_points == []
            entries = [platform.ask("GET", f"/physical-assets/{assets[name]}/logbook")[0] for name in names[2:]]
            assert [entry["title"] for entry in entries] == ["Dispatch rejected", "Dispatch not followed"]
            assert (sites[0].control, at_broker.control) == (1, "gridloom")
            written = len(batteries["by-modbus"].set_points)
            sleep_until(lambda: len(batteries["by-modbus"].set_points) > written + 2)
            platform.service.kill_everything()
            gateway.kill()
            sleep_until(lambda: at_broker.control == "site")
            batteries["by-modbus"].set_points.clear()
            gateway.start()
            sleep_until(lambda: bool(batteries["by-modbus"].set_points))
        finally:
            platform.service.start()
        platform.move_clock(first + QUARTER)
        sleep_until(lambda: batteries["by-modbus"].power_kw == -200 and batteries["by-mqtt"].power_kw == -200)
        told = [power for _, power in batteries["by-mqtt"].set_points]
        assert gateway.stop() == 0
        assert all(-200 <= power <= 400 for power in told)
        assert (sites[0].control, at_broker.control) == (0, "site")
        for site in sites:
            site.stop()
        at_broker.stop()


class TestARegister:
    @pytest.mark.parametrize(("asked_kw", "written_kw"), [(99.94, 99.9), (99.96, 99.9), (-99.96, -100.0)])
    def test_takes_the_nearest_power_within_the_limits(self, asked_kw: float, written_kw: float) -> None:
        battery, port = SimulatedBattery(1000, 4000, 2000), free_port()
        site = ModbusSite(battery, port)
        site.start()
        set_point = RegisterSetPoint(register=200, type="int32", scale=0.1)
        limits = Dispatch(max_charge_kw=100, max_discharge_kw=99.96)
        connection = ModbusConnection(
            UUID(int=1), Modbus(host="127.0.0.1", port=port, set_point=set_point), lambda *_: None, limits=limits
        )
        connection.write(SetPoint(asked_kw))
        connection.stop()
        site.stop()
        assert battery.set_points[-1][1] == pytest.approx(written_kw)


class TestTheCommand:
    def test_checks_what_arrives(self, platform: Platform, broker: Broker, gateway: Gateway) -> None:
        asset, port = platform.register("checked"), free_port()
        gateway.configure(platform.url, "", modbus_battery(asset, "checked", port))
        (gateway.directory / "key").unlink()
        for command in ("check", "run"):
            refused = gateway.command(command, str(gateway.file))
            assert (refused.returncode, "API key cannot be read" in refused.stderr) == (2, True), refused.stderr
        site = ModbusSite(SimulatedBattery(1000, 4000, 1000), port)
        site.start()
        gateway.configure(
            platform.url,
            platform.make_key(asset),
            modbus_battery(asset, "checked", port, dispatch=dispatch_of()),
        )
        checked = gateway.command("check", str(gateway.file))
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "state_of_charge" in checked.stdout
        gateway.start()
        sleep_until(lambda: "The gateway runs" in gateway.log)
        second = gateway.command("run", str(gateway.file))
        assert (second.returncode, "Another gateway runs" in second.stderr) == (2, True), second.stderr
        gateway.stop()
        site.stop()
        checked = gateway.command("check", str(gateway.file))
        assert (checked.returncode, "nothing arrived" in checked.stdout) == (1, True)

    def test_says_what_keeps_it_from_a_broker(self, platform: Platform, broker: Broker, gateway: Gateway) -> None:
        changes = {
            "Not authorized": (f'username = "{USERNAME}"', 'username = "nobody"'),
            "certificate verify failed": (f'ca_file = "{broker.certificate}"', ""),
            "Connection refused": (f"port = {broker.port}", f"port = {free_port()}"),
        }
        assets = {said: platform.register(said) for said in changes}
        batteries = [
            mqtt_battery(assets[said], said, broker, gateway.directory).replace(before, after)
            for said, (before, after) in changes.items()
        ]
        gateway.configure(platform.url, platform.make_key(*assets.values()), "".join(batteries))
        checked = gateway.command("check", str(gateway.file))
        lines = " ".join(checked.stdout.split())
        assert checked.returncode == 1
        for said in changes:
            assert re.search(f"! {said} connection: .*no connection to the broker .*{said}", lines), checked.stdout

    def test_writes_an_example_that_it_reads(self, gateway: Gateway) -> None:
        assert gateway.command("init", str(gateway.file)).returncode == 0
        again = gateway.command("init", str(gateway.file))
        assert (again.returncode, "exists" in again.stderr) == (2, True)
        gateway.file.write_text(gateway.file.read_text().replace("control_topic", "control_topik"))
        refused = gateway.command("check", str(gateway.file))
        lines = gateway.file.read_text().splitlines()
        line = next(number for number, text in enumerate(lines, 1) if "control_topik" in text)
        assert refused.returncode == 2
        assert f"gateway.toml:{line}: batteries.mqtt.set_point.control_topik is not known; did you mean" in (
            " ".join(refused.stderr.split())
        )


def has_power(battery: SimulatedBattery, power_kw: float) -> bool:
    return battery.power_kw == power_kw


def is_last(platform: Platform, asset: str, status: str) -> bool:
    return platform.acknowledged(asset)[-1:] == [status]


def broker_knows(broker: Broker, gateway: Gateway) -> bool:
    """Whether the gateway has subscribed: from then on the broker keeps what it is sent."""
    log = (broker.directory / "broker.log").read_text()
    return "Sending SUBACK to gridloom-" in log and gateway.process is not None


def waiting_bytes(gateway: Gateway) -> int:
    return sum(path.stat().st_size for path in (gateway.directory / "state" / "spool").glob("0*"))
