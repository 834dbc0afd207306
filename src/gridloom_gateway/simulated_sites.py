"""Sites to try a gateway on: batteries behind Modbus servers and at an MQTT broker, which behave as sites do.

They follow a remote set-point and forget it after 60 s; they can drop out, and what was measured meanwhile comes late.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from pymodbus.client import ModbusTcpClient
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

POWER_REGISTER: Final = 100
CHARGE_REGISTER: Final = 102
SET_POINT_REGISTER: Final = 200
CONTROL_REGISTER: Final = 202
HEARTBEAT_REGISTER: Final = 203
REGISTER_COUNT: Final = 300
_WRITES: Final = frozenset({6, 16})


@dataclass(slots=True)
class SimulatedBattery:
    """Follows its set-point at once, within its limits; without one for `forgets_after_s` it idles, as one does that is
    empty or full."""

    max_power_kw: float
    capacity_kwh: float
    stored_kwh: float = 0.0
    charge_efficiency: float = 1.0
    discharge_efficiency: float = 1.0
    forgets_after_s: float = 60.0
    is_stuck: bool = False
    """It takes set-points and does nothing."""
    set_points: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since 1970 and kW of each set-point that came."""
    fed_in_kwh: float = 0.0
    drawn_kwh: float = 0.0
    power_kw: float = 0.0
    _told_s: float = field(default=float("-inf"))
    _told_kw: float = 0.0
    _moved_s: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take_set_point(self, power_kw: float) -> None:
        self.move()
        with self._lock:
            self._told_kw, self._told_s = power_kw, time.monotonic()
            self.set_points.append((time.time(), power_kw))
        self.move()

    def move(self) -> None:
        """Energy flows until now."""
        with self._lock:
            now_s = time.monotonic()
            forgotten_s = self._told_s + self.forgets_after_s
            self._move_energy(min(now_s, max(forgotten_s, self._moved_s)))
            self.power_kw = 0.0 if now_s >= forgotten_s or self.is_stuck else self._limit_power(self._told_kw)
            self._move_energy(now_s)

    def set_charge(self, percentage: float) -> None:
        with self._lock:
            self.stored_kwh = min(max(percentage / 100, 0.0), 1.0) * self.capacity_kwh

    def pass_time(self, seconds: float) -> None:
        """Energy flows for so long at once, at the power of now."""
        self.move()
        with self._lock:
            self._moved_s -= seconds
            self._move_energy(self._moved_s + seconds)

    def _limit_power(self, power_kw: float) -> float:
        is_at_end = self.stored_kwh <= 0 if power_kw > 0 else self.stored_kwh >= self.capacity_kwh
        return 0.0 if is_at_end else min(max(power_kw, -self.max_power_kw), self.max_power_kw)

    def _move_energy(self, until_s: float) -> None:
        asked_kwh = self.power_kw * max(0.0, until_s - self._moved_s) / 3600
        room_kwh = (self.capacity_kwh - self.stored_kwh) / self.charge_efficiency
        energy_kwh = min(max(asked_kwh, -room_kwh), self.stored_kwh * self.discharge_efficiency)
        self.fed_in_kwh += max(energy_kwh, 0.0)
        self.drawn_kwh += max(-energy_kwh, 0.0)
        taken_kwh = energy_kwh / self.discharge_efficiency if energy_kwh > 0 else energy_kwh * self.charge_efficiency
        self.stored_kwh = min(max(self.stored_kwh - taken_kwh, 0.0), self.capacity_kwh)
        self._moved_s = max(until_s, self._moved_s)

    @property
    def charge_percentage(self) -> float:
        return 100 * self.stored_kwh / self.capacity_kwh


class ModbusSite:
    """A Modbus TCP server before a battery; powers in tenths of a kW as int32, the state of charge in hundredths."""

    def __init__(self, battery: SimulatedBattery, port: int) -> None:
        self.battery, self.port = battery, port
        self.control = self.heartbeat = self.reads = 0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: ModbusTcpServer | None = None

    def start(self) -> None:
        is_ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve_registers(is_ready)), daemon=True)
        self._thread.start()
        is_ready.wait(10)

    def stop(self) -> None:
        """Drops every connection, as a site does whose line is cut."""
        if self._loop is not None and self._server is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(self._server.shutdown(), self._loop).result(10)
            self._thread.join(10)
        self._thread = self._loop = self._server = None

    async def _serve_registers(self, is_ready: threading.Event) -> None:
        registers = [SimData(0, count=REGISTER_COUNT, datatype=DataType.REGISTERS)]
        device = SimDevice(id=1, simdata=registers, action=self._answer_request)
        self._loop = asyncio.get_running_loop()
        self._server = ModbusTcpServer(device, address=("127.0.0.1", self.port))
        await self._server.serve_forever(background=True)
        is_ready.set()
        await self._server.serving

    async def _answer_request(
        self,
        function_code: int,
        start_address: int,
        address: int,
        _count: int,
        registers: list[int],
        values: list[int] | list[bool] | None,
    ) -> None:
        if values is not None and function_code in _WRITES:
            self._take_written(address, [int(value) for value in values])
            return
        self.reads += 1
        self.battery.move()
        kinds = ModbusTcpClient.DATATYPE
        power = ModbusTcpClient.convert_to_registers(round(10 * self.battery.power_kw), kinds.INT32)
        charge = round(100 * self.battery.charge_percentage)
        for register, value in enumerate([*power, charge], POWER_REGISTER):
            registers[register - start_address] = value

    def _take_written(self, address: int, values: list[int]) -> None:
        if address == SET_POINT_REGISTER:
            told = ModbusTcpClient.convert_from_registers(values, ModbusTcpClient.DATATYPE.INT32)
            self.battery.take_set_point(float(told) / 10)  # type: ignore[arg-type]
        elif address == CONTROL_REGISTER:
            self.control = values[0]
        elif address == HEARTBEAT_REGISTER:
            self.heartbeat = values[0]


class MqttSite:
    """A battery at a broker: JSON with its power in W, charging counted as positive, and its state of charge."""

    def __init__(self, battery: SimulatedBattery, topic: str, host: str, port: int, **security: Any) -> None:
        self.battery, self.topic, self.port = battery, topic, port
        self.control = ""
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id=f"site-{topic.replace('/', '-')}")
        self._client.max_inflight_messages_set(0)  # a limit is reached for ever by what a lost connection leaves behind
        if "username" in security:
            self._client.username_pw_set(security["username"], security["password"])
        if "context" in security:
            self._client.tls_set_context(security["context"])
        self._client.on_connect = self._on_connect
        self._client.on_message = self._on_message
        self._client.reconnect_delay_set(1, 2)
        self._address = (host, port)

    def start(self) -> None:
        self._client.connect_async(*self._address)
        self._client.loop_start()

    def stop(self) -> None:
        """What is sent from now on waits until the site is started again."""
        self._client.disconnect()
        self._client.loop_stop()

    def send(self, time_s: float) -> None:
        """A sample of `time_s`; kept by the client while the broker is away."""
        self.battery.move()
        payload = {
            "ts": round(time_s * 1000),
            "power": {"active": -1000 * self.battery.power_kw},
            "soc": self.battery.charge_percentage / 100,
        }
        self._client.publish(f"{self.topic}/meter", json.dumps(payload), qos=1)

    def _on_connect(self, client: Any, *_: Any) -> None:
        client.subscribe([(f"{self.topic}/set-point", 1), (f"{self.topic}/control", 1)])

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        if message.topic.endswith("/control"):
            self.control = message.payload.decode()
        else:
            self.battery.take_set_point(float(message.payload))
