"""A field for the sandbox: eight of its simulated batteries get a site each, four at an MQTT broker and four with a
Modbus server, and a gateway connects them to the service."""

from __future__ import annotations

import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from gridloom_client import Client, GridloomError, NotFoundError, UnauthenticatedError
from gridloom_client.answers import PhysicalAsset
from gridloom_gateway.clock import SandboxClock, now
from gridloom_gateway.simulated_broker import HOST, FieldError, check_ports, end_process, run_broker
from gridloom_gateway.simulated_sites import ModbusSite, MqttSite, SimulatedBattery

SITES: Final = 8
KEY_NAME: Final = "simulated field"
TICK_S: Final = 1.0
WATCH_EVERY_S: Final = 2.0
RETRY_S: Final = 2.0
JUMP_S: Final = 30.0
"""A clock that moved by so much more than time went by: the batteries have lived on without their sites."""
DROP_OUTS_AN_HOUR: Final = 2.0
DROP_OUT_S: Final = (30, 120)
"""Of each site; beyond 60 s the gateway says that a site with a Modbus server cannot be reached."""

_GATEWAY: Final = (
    "import sys, pathlib; from gridloom_gateway import configuration, running; "
    "running.run_gateway(configuration.load_configuration(pathlib.Path(sys.argv[1])))"
)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class FieldSite:
    """`away_until_s`: it has dropped out until then, on a clock that only goes forward."""

    asset: PhysicalAsset
    battery: SimulatedBattery
    site: ModbusSite | MqttSite
    away_until_s: float | None = None

    def live(self, at_s: float, chance: random.Random) -> None:
        """A second of its life: it measures, and drops out now and then."""
        if isinstance(self.site, MqttSite):
            self.site.send(now().timestamp())
        if self.away_until_s is None:
            if chance.random() < DROP_OUTS_AN_HOUR * TICK_S / 3600:
                self.away_until_s = at_s + chance.uniform(*DROP_OUT_S)
                self.site.stop()
                _log.info("%s has dropped out for %.0f s.", self.asset.name, self.away_until_s - at_s)
        elif at_s >= self.away_until_s:
            self.away_until_s = None
            self.site.start()
            _log.info("%s is back.", self.asset.name)


@dataclass
class Field:
    """Broker, sites and gateway of a sandbox; `directory` holds their configurations and what must survive."""

    client: Client
    url: str
    directory: Path
    mqtt_port: int
    modbus_port: int
    chance: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311  # of drop-outs
    sites: list[FieldSite] = field(default_factory=list)

    def run(self, stopping: threading.Event) -> None:
        """After a reset of the sandbox it is set up anew."""
        check_ports([self.mqtt_port, *range(self.modbus_port, self.modbus_port + SITES // 2)])
        self.directory.mkdir(parents=True, exist_ok=True)
        with run_broker(self.directory, self.mqtt_port):
            while assets := self._await_batteries(stopping):
                self._run_sites(assets, stopping)

    def _await_batteries(self, stopping: threading.Event) -> list[PhysicalAsset]:
        """Those of the world, once its past is played; none where it is to stop."""
        while not stopping.is_set():
            try:
                if self.client.sandbox.simulator().history_complete:
                    found = sorted(self.client.physical_assets.list(), key=lambda one: one.name)
                    if len(found) >= SITES:
                        return found[:SITES]
            except UnauthenticatedError as error:
                raise FieldError(f"The sandbox's operator cannot sign in: {error}") from None
            except GridloomError as error:
                _log.debug("The service does not answer: %s", error)
            stopping.wait(RETRY_S)
        return []

    def _run_sites(self, assets: Sequence[PhysicalAsset], stopping: threading.Event) -> None:
        clock = SandboxClock(self.directory / "sandbox-clock.json")
        self.sites = [self._make_site(place, asset) for place, asset in enumerate(assets)]
        with ExitStack() as stack:
            for one in self.sites:
                stack.callback(one.site.stop)
                one.site.start()
            self._write_configuration()
            self._log_addresses()
            with suppress(NotFoundError):
                self._run_gateway(clock, stopping)

    def _make_site(self, place: int, asset: PhysicalAsset) -> FieldSite:
        rated = asset.parameters
        battery = SimulatedBattery(
            max(rated.rated_charge_power, rated.rated_discharge_power),
            rated.energy_capacity,
            charge_efficiency=rated.charge_efficiency,
            discharge_efficiency=rated.discharge_efficiency,
        )
        site: ModbusSite | MqttSite = (
            MqttSite(battery, name_topic(asset.name), HOST, self.mqtt_port)
            if place % 2 == 0
            else ModbusSite(battery, self.modbus_port + place // 2)
        )
        return FieldSite(asset, battery, site)

    def _take_energies(self) -> None:
        """The sites go on from what the platform knows of their batteries."""
        for one in self.sites:
            latest = self.client.monitoring.latest(one.asset.id, datapoints=["state_of_charge"]).data
            point = latest.get("state_of_charge")
            if point is not None and point.value is not None:
                one.battery.set_charge(point.value)

    def _write_configuration(self) -> None:
        for known in list(self.client.auth.api_keys()):
            if known.name == KEY_NAME:
                self.client.auth.revoke_api_key(known.id)
        key = self.client.auth.create_api_key(
            name=KEY_NAME,
            permissions=["Create:monitoring", "Read:schedules"],
            physical_asset_ids=[one.asset.id for one in self.sites],
        )
        key_file = self.directory / "key"
        key_file.touch(mode=0o600)
        key_file.write_text(key.secret, encoding="utf-8")
        self._configuration_file.write_text(
            f"# Written anew at each start.\n[service]\nurl = {_quote_text(self.url)}\n"
            f"key_file = {_quote_text(key_file.absolute())}\nsandbox = true\n\n"
            f"[gateway]\ndirectory = {_quote_text((self.directory / 'state').absolute())}\n"
            + "".join(_describe_battery(one) for one in self.sites),
            encoding="utf-8",
        )

    @property
    def _configuration_file(self) -> Path:
        return self.directory / "gateway.toml"

    def _log_addresses(self) -> None:
        topics = ", ".join(one.site.topic for one in self.sites if isinstance(one.site, MqttSite))
        ports = [one.site.port for one in self.sites if isinstance(one.site, ModbusSite)]
        _log.info(
            *("MQTT broker at %s:%d (%s), Modbus servers at %s:%d to %d, gateway by %s", HOST, self.mqtt_port, topics),
            *(HOST, ports[0], ports[-1], self._configuration_file),
        )

    def _run_gateway(self, clock: SandboxClock, stopping: threading.Event) -> None:
        """The sites live at the pace of the real clock: while the sandbox hurries there is no gateway, and its
        simulator has the batteries to itself."""
        gateway: subprocess.Popen[bytes] | None = None
        watched_s, offset_s = float("-inf"), 0.0
        try:
            while not stopping.wait(TICK_S):
                at_s = time.monotonic()
                if at_s - watched_s >= WATCH_EVERY_S:
                    watched_s = at_s
                    gateway, offset_s = self._watch_clock(clock, gateway, offset_s)
                for one in self.sites:
                    one.live(at_s, self.chance)
        finally:
            end_process(gateway)

    def _watch_clock(
        self, clock: SandboxClock, gateway: subprocess.Popen[bytes] | None, offset_s: float
    ) -> tuple[subprocess.Popen[bytes] | None, float]:
        """The gateway, which runs only at the pace of the real clock, and how far the sandbox is ahead of it."""
        try:
            is_real = self.client.sandbox.simulator().speed == 1
            clock.follow(self.client)
            ahead_s = _read_offset(now())
            if not is_real:
                end_process(gateway)
                return None, ahead_s
            if gateway is None or abs(ahead_s - offset_s) > JUMP_S:
                self._take_energies()
        except NotFoundError:  # the batteries went with a reset
            raise
        except GridloomError as error:
            _log.info("The service does not answer: %s", error)
            return gateway, offset_s
        if gateway is None or gateway.poll() is not None:
            gateway = self._start_gateway()
        return gateway, ahead_s

    def _start_gateway(self) -> subprocess.Popen[bytes]:
        with (self.directory / "gateway.log").open("ab") as out:
            return subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", _GATEWAY, str(self._configuration_file)], stdout=out, stderr=out
            )


def name_topic(name: str) -> str:
    """A battery's name in small Latin letters."""
    plain = name.lower()
    for letter, latin in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
        plain = plain.replace(letter, latin)
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def _describe_battery(one: FieldSite) -> str:
    rated, site = one.asset.parameters, one.site
    head = f'\n[[batteries]]\nasset = "{one.asset.id}"\nname = {_quote_text(one.asset.name)}\n'
    if isinstance(site, MqttSite):
        connection = f"""[batteries.mqtt]
host = "{HOST}"
port = {site.port}
tls = false
time_field = "ts"
time_unit = "ms"
[batteries.mqtt.signals]
active_power = {{ topic = "{site.topic}/meter", field = "power.active", unit = "W", sign = -1 }}
state_of_charge = {{ topic = "{site.topic}/meter", field = "soc", unit = "ratio" }}
[batteries.mqtt.set_point]
topic = "{site.topic}/set-point"
control_topic = "{site.topic}/control"
"""
    else:
        connection = f"""[batteries.modbus]
host = "{HOST}"
port = {site.port}
[batteries.modbus.signals]
active_power = {{ register = 100, table = "input", type = "int32", scale = 0.1 }}
state_of_charge = {{ register = 102, table = "input", type = "uint16", scale = 0.01 }}
[batteries.modbus.set_point]
register = 200
type = "int32"
scale = 0.1
control_register = 202
heartbeat_register = 203
"""
    limits = f"max_charge_kw = {rated.rated_charge_power:g}\nmax_discharge_kw = {rated.rated_discharge_power:g}\n"
    return f"{head}{connection}[batteries.dispatch]\n{limits}"


def _quote_text(text: object) -> str:
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _read_offset(instant: datetime) -> float:
    return instant.timestamp() - time.time()


def run_field(url: str, home: Path, mqtt_port: int, modbus_port: int) -> None:
    """Until SIGTERM, SIGINT or the end of the process that started it. `home` is the sandbox's, where its operator's
    sign-in is found."""
    logging.basicConfig(level=logging.INFO, format="field: %(message)s")
    for name in ("gridloom_client", "httpx2", "pymodbus", "paho"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    threading.Thread(target=_watch_parent, args=(os.getppid(), stopping), name="parent", daemon=True).start()
    while not (home / "operator.json").exists() and not stopping.wait(TICK_S):
        pass
    if not stopping.is_set():
        sign_in = json.loads((home / "operator.json").read_bytes())
        with Client(url, username=sign_in["username"], password=sign_in["password"]) as client:
            Field(client, url, home / "field", mqtt_port, modbus_port).run(stopping)


def _watch_parent(parent: int, stopping: threading.Event) -> None:
    while not stopping.wait(TICK_S):
        if os.getppid() != parent:
            stopping.set()
