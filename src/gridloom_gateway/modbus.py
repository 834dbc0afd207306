"""Modbus TCP: registers are polled, set-points are written; blocks of neighbouring registers are read at once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ModbusException

from gridloom_gateway.configuration import Dispatch, Modbus, RegisterSetPoint, RegisterSignal, RegisterType
from gridloom_gateway.connection import Deliver, Reading, RejectionLog, SetPoint, SiteUnreachable

MAX_REGISTERS_A_READ: Final = 120
MAX_GAP: Final = 8
"""Unused registers between two that are read at once."""
_WIDTHS: Final[dict[str, int]] = {
    **{"int16": 1, "uint16": 1, "int32": 2, "uint32": 2},
    **{"float32": 2, "int64": 4, "uint64": 4, "float64": 4},
}
_INTEGER_BITS: Final[dict[str, int]] = {name: 16 * width for name, width in _WIDTHS.items() if "int" in name}

_log = logging.getLogger(__name__)


class RegisterBlock(NamedTuple):
    """Signals that one request reads."""

    table: str
    start: int
    size: int
    signals: tuple[tuple[str, RegisterSignal], ...]


def plan_blocks(signals: Sequence[tuple[str, RegisterSignal]]) -> list[RegisterBlock]:
    """As few requests as the limits of Modbus allow."""
    blocks: list[RegisterBlock] = []
    for name, signal in sorted(signals, key=lambda one: (one[1].table, one[1].register)):
        end = signal.register + _WIDTHS[signal.type]
        last = blocks[-1] if blocks else None
        if (
            last is not None
            and last.table == signal.table
            and signal.register - (last.start + last.size) <= MAX_GAP
            and end - last.start <= MAX_REGISTERS_A_READ
        ):
            size = max(last.size, end - last.start)
            blocks[-1] = last._replace(size=size, signals=(*last.signals, (name, signal)))
        else:
            blocks.append(RegisterBlock(signal.table, signal.register, end - signal.register, ((name, signal),)))
    return blocks


class ModbusConnection:
    """One battery behind a Modbus server, polled by a thread of its own; a lock keeps polls and writes apart."""

    def __init__(
        self, asset: UUID, configuration: Modbus, reject: RejectionLog, *, limits: Dispatch | None = None
    ) -> None:
        self._asset, self._configuration, self._reject, self._limits = asset, configuration, reject, limits
        self._blocks = plan_blocks(list(configuration.signals.items()))
        self._client = ModbusTcpClient(
            configuration.host, port=configuration.port, timeout=configuration.timeout_s, retries=1
        )
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._heartbeat = 0
        self._is_reached = True

    def start(self, deliver: Deliver) -> None:
        if not self._blocks:
            return
        self._thread = threading.Thread(target=self._poll_site, args=(deliver,), name="modbus", daemon=True)
        self._thread.start()

    def write(self, set_point: SetPoint) -> None:
        target = self._configuration.set_point
        assert target is not None, "the configuration was checked"
        try:
            with self._lock:
                self._ensure_connected()
                if set_point.power_kw is not None:
                    self._write_registers(target.register, self._encode_power(set_point.power_kw, target))
                if target.control_register is not None:
                    self._write_registers(target.control_register, [int(set_point.power_kw is not None)])
                if target.heartbeat_register is not None and set_point.power_kw is not None:
                    self._heartbeat = (self._heartbeat + 1) % 65536
                    self._write_registers(target.heartbeat_register, [self._heartbeat])
        except (ModbusException, OSError) as error:
            self._client.close()
            raise SiteUnreachable(f"{self._configuration.host}:{self._configuration.port}: {error}") from None

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(self._configuration.timeout_s + 1)
        target = self._configuration.set_point
        if target is not None and target.control_register is not None:
            try:
                self.write(SetPoint(None))
            except SiteUnreachable:
                _log.warning("Battery %s: the site did not hear that the gateway has stopped.", self._asset)
        self._client.close()

    def _poll_site(self, deliver: Deliver) -> None:
        while not self._stopping.is_set():
            try:
                readings = list(self._read_blocks())
            except (ModbusException, OSError) as error:
                self._client.close()
                if self._is_reached:
                    _log.warning("Battery %s: the site cannot be read: %s.", self._asset, error)
                self._is_reached = False
            else:
                self._is_reached = True
                deliver(readings, _acknowledge_nothing)
            self._stopping.wait(self._configuration.poll_every_s)

    def _read_blocks(self) -> Iterator[Reading]:
        for block in self._blocks:
            with self._lock:
                self._ensure_connected()
                read = (
                    self._client.read_holding_registers
                    if block.table == "holding"
                    else self._client.read_input_registers
                )
                answer = read(block.start, count=block.size, device_id=self._configuration.device_id)
            if answer.isError() or len(answer.registers) < block.size:
                raise ModbusException(f"registers {block.start} to {block.start + block.size - 1}: {answer}")
            for name, signal in block.signals:
                start = signal.register - block.start
                registers = answer.registers[start : start + _WIDTHS[signal.type]]
                raw = self._client.convert_from_registers(
                    registers, _find_type(signal.type), self._configuration.word_order
                )
                yield Reading(name, None, float(raw) * signal.factor)  # type: ignore[arg-type]

    def _ensure_connected(self) -> None:
        if not self._client.connected and not self._client.connect():
            raise ModbusException(f"no connection to {self._configuration.host}:{self._configuration.port}")

    def _encode_power(self, power_kw: float, target: RegisterSetPoint) -> list[int]:
        """The nearest value that the register can hold, but none beyond the battery's limits."""
        value, kind = power_kw / target.factor, target.type
        number: int | float = value
        if kind in _INTEGER_BITS:
            bits, is_signed = _INTEGER_BITS[kind], not kind.startswith("u")
            low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
            number = round(value)
            if self._limits is not None and not self._limits.allows(number * target.factor):
                number = int(value)
            if not low <= number <= high:
                raise SiteUnreachable(f"{number} does not fit a register of type {kind}")
        return self._client.convert_to_registers(number, _find_type(kind), self._configuration.word_order)

    def _write_registers(self, address: int, registers: list[int]) -> None:
        answer = self._client.write_registers(address, registers, device_id=self._configuration.device_id)
        if answer.isError():
            raise ModbusException(f"register {address}: {answer}")


def _find_type(kind: RegisterType) -> ModbusTcpClient.DATATYPE:
    return ModbusTcpClient.DATATYPE[kind.upper()]


def _acknowledge_nothing() -> None:
    """A poll that is lost is read again at the next."""
