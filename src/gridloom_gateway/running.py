"""A gateway put together from its configuration, and run until it is told to stop."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from gridloom_client import Client, GridloomError
from gridloom_gateway.acknowledgements import AcknowledgementQueue
from gridloom_gateway.clock import ClockComparison, SandboxClock, compare_clocks
from gridloom_gateway.configuration import (
    Battery,
    Configuration,
    ConfigurationError,
    Service,
    make_trust,
    read_secret,
)
from gridloom_gateway.connection import Connection, RejectionLog
from gridloom_gateway.control import BatteryControl
from gridloom_gateway.files import lock_directory
from gridloom_gateway.intake import Intake, Latest
from gridloom_gateway.modbus import ModbusConnection
from gridloom_gateway.mqtt import MqttConnection
from gridloom_gateway.plan import DispatchReader, PlanStore
from gridloom_gateway.spool import Spool
from gridloom_gateway.uplink import Uplink

CLOCK_EVERY_S: Final = 20.0
SANDBOX_CLOCK_EVERY_S: Final = 1.0
STATUS_EVERY_S: Final = 60.0
MEGABYTE: Final = 1_000_000

_log = logging.getLogger("gridloom_gateway")


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def leave_pandas_out() -> None:
    """Where pandas is installed, pyarrow loads it with its first array: 50 MB that a gateway does not need."""
    sys.meta_path.insert(0, _WithoutPandas())


def open_client(service: Service) -> Client:
    key = read_secret(service.key_file, service.key_env, "API key")
    if service.ca_file is not None:
        make_trust(service.ca_file)
    return Client(service.url, api_key=key, verify=service.ca_file or True)


def make_connection(battery: Battery, reject: RejectionLog, *, is_check: bool = False) -> Connection:
    """is_check: it only listens, with a session of its own, and says nothing of who is in control."""
    if battery.mqtt is not None:
        mqtt = battery.mqtt
        if is_check:
            name = f"{mqtt.client_id or f'gridloom-{battery.asset}'}-check"
            mqtt = msgspec.structs.replace(mqtt, client_id=name, set_point=None)
        return MqttConnection(battery.asset, mqtt, reject, keeps_session=not is_check)
    assert battery.modbus is not None, "the configuration was checked"
    modbus = msgspec.structs.replace(battery.modbus, set_point=None) if is_check else battery.modbus
    return ModbusConnection(battery.asset, modbus, reject, limits=battery.dispatch)


def _open_spool(directory: Path, limit_bytes: int) -> Spool:
    try:
        if lock_directory(directory):
            return Spool(directory / "spool", limit_bytes)
    except OSError as error:
        raise ConfigurationError(f"The gateway cannot use its directory: {error}.") from None
    raise ConfigurationError(f"Another gateway runs with {directory}; each needs a directory of its own.")


class GatewayProcess:
    def __init__(self, configuration: Configuration) -> None:
        settings, service = configuration.gateway, configuration.service
        directory = Path(settings.directory)
        self._client = open_client(service)
        self._spool = _open_spool(directory, settings.spool_limit_mb * MEGABYTE)
        self._intake = Intake(self._spool)
        self._uplink = Uplink(
            self._client, self._spool, every_s=settings.send_every_s, batch_samples=settings.batch_samples
        )
        self._clock = ClockComparison()
        self._clock_every_s = settings.clock_every_s or (SANDBOX_CLOCK_EVERY_S if service.sandbox else CLOCK_EVERY_S)
        self._sandbox_clock = SandboxClock(directory / "sandbox-clock.json") if service.sandbox else None
        self._acknowledgements = AcknowledgementQueue(self._client, directory / "acknowledgements.json")
        self._plans = PlanStore(directory / "plans")
        self._batteries = configuration.batteries
        self._connections: dict[str, Connection] = {
            battery.name: make_connection(battery, self._intake.reject) for battery in self._batteries
        }
        self._controls = {battery.asset: self._make_control(battery) for battery in self._batteries if battery.dispatch}
        self._dispatch = DispatchReader(
            self._client, self._plans, {asset: control.take_plan for asset, control in self._controls.items()}
        )
        self._stopping = threading.Event()

    def _make_control(self, battery: Battery) -> BatteryControl:
        assert battery.dispatch is not None, "only batteries that are dispatched"
        measured: Callable[[str], Latest | None] = partial(self._intake.find_latest, battery.asset)
        return BatteryControl(
            battery.asset,
            battery.dispatch,
            self._connections[battery.name],
            plan=self._plans.read(battery.asset),
            clock=self._clock,
            measured=measured,
            acknowledge=self._acknowledgements.put,
        )

    def run(self) -> None:
        """Until SIGTERM or SIGINT; what was delivered before is on disk when it returns."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request_stop)
        if self._sandbox_clock is not None and not self._sandbox_clock.is_known:
            self._compare_clocks()  # or samples of its time would be taken for too far ahead
        self._intake.start()
        self._uplink.start()
        self._acknowledgements.start()
        for battery in self._batteries:
            connection = battery.mqtt or battery.modbus
            assert connection is not None, "the configuration was checked"
            deliver = self._intake.deliver_for(battery.asset, connection.signals)
            self._connections[battery.name].start(deliver)
        for control in self._controls.values():
            control.start()
        if self._controls:
            self._dispatch.start()
        _log.info("The gateway runs, with %d batteries.", len(self._batteries))
        self._watch_clock()
        self._stop_parts()

    def _watch_clock(self) -> None:
        """The clock, and a line of status each minute."""
        every_s = self._clock_every_s
        waited_s = 0.0
        self._compare_clocks()
        while not self._stopping.wait(every_s):
            self._compare_clocks()
            waited_s += every_s
            if waited_s >= STATUS_EVERY_S:
                waited_s = 0.0
                _log.info(
                    "%d samples received, %d sent, %d refused, %d rejected; %.1f MB wait.",
                    *(self._intake.received, self._uplink.samples_sent, self._uplink.samples_refused),
                    sum(self._intake.rejected.values()),
                    self._spool.size_bytes / MEGABYTE,
                )

    def _compare_clocks(self) -> None:
        was_told = self._clock.is_told
        try:
            compare_clocks(self._client, self._clock)
            if self._sandbox_clock is not None and self._sandbox_clock.follow(self._client):
                for control in self._controls.values():
                    control.wake()
        except GridloomError:
            return
        except OSError as error:
            _log.error("The sandbox's clock cannot be kept on disk: %s", error)
        if self._clock.is_told and not was_told:
            _log.error("The clock of this machine is %+.1f s off the service's.", self._clock.offset_s)

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping.set()

    def _stop_parts(self) -> None:
        if self._controls:
            self._dispatch.stop()
        for control in self._controls.values():
            control.stop()
        for connection in self._connections.values():
            connection.stop()
        self._intake.stop()
        self._uplink.stop()
        self._acknowledgements.stop()
        self._spool.close()


def run_gateway(configuration: Configuration) -> None:
    leave_pandas_out()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    for name in ("gridloom_client", "httpx2", "pymodbus", "paho"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    GatewayProcess(configuration).run()
