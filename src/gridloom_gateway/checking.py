"""`gridloom gateway check`: tries the service and every connection, and says what arrives."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple
from uuid import UUID

from gridloom_client import Client, GridloomError
from gridloom_gateway.clock import ClockComparison, compare_clocks, now
from gridloom_gateway.configuration import Battery, Configuration
from gridloom_gateway.connection import Reading
from gridloom_gateway.running import make_connection, open_client

LISTEN_S: Final = 5.0
MAX_TEXT: Final = 200


class Finding(NamedTuple):
    """A row of the table; `is_good` is False where something has to be mended."""

    battery: str
    subject: str
    outcome: str
    is_good: bool


def check_gateway(configuration: Configuration, listen_s: float = LISTEN_S) -> list[Finding]:
    with open_client(configuration.service) as client:
        findings = [_check_service(client)]
        for battery in configuration.batteries:
            findings += _check_rights(client, battery)
    for battery in configuration.batteries:
        findings += _check_connection(battery, listen_s)
    return findings


def _check_service(client: Client) -> Finding:
    clock = ClockComparison()
    try:
        compare_clocks(client, clock)
        who = client.auth.me()
    except GridloomError as error:
        return Finding("", "service", str(error)[:MAX_TEXT], is_good=False)
    if clock.is_told:
        return Finding("", "service", f"the clock of this machine is {clock.offset_s:+.0f} s off", is_good=False)
    return Finding("", "service", f"reached, as {who.username}", is_good=True)


def _check_rights(client: Client, battery: Battery) -> list[Finding]:
    """Whether the key may write the battery's telemetry, and read its dispatch."""
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("may write telemetry", lambda: client.monitoring.write(battery.asset, {})),
    ]
    if battery.dispatch is not None:
        start = now()
        attempts.append(("may read dispatch", lambda: client.physical_assets.dispatch(battery.asset, start=start)))
    findings = []
    for subject, attempt in attempts:
        try:
            attempt()
        except GridloomError as error:
            findings.append(Finding(battery.name, subject, str(error)[:MAX_TEXT], is_good=False))
        else:
            findings.append(Finding(battery.name, subject, "yes", is_good=True))
    return findings


@contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """The warnings that a connection writes into the log of a gateway."""
    found: list[str] = []
    handler, logger = logging.Handler(logging.WARNING), logging.getLogger("gridloom_gateway")
    handler.emit = lambda record: found.append(record.getMessage()[:MAX_TEXT])  # type: ignore[method-assign]
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)


def _check_connection(battery: Battery, listen_s: float) -> list[Finding]:
    """The last value of each signal that arrives within some seconds, and what could not be used."""
    arrived: dict[str, float] = {}
    rejected: list[str] = []
    all_there = threading.Event()
    configured = battery.mqtt or battery.modbus
    assert configured is not None, "the configuration was checked"

    def deliver(readings: Sequence[Reading], _acknowledge: Callable[[], None]) -> None:
        arrived.update({reading.signal: reading.value for reading in readings})
        if arrived.keys() >= configured.signals.keys():
            all_there.set()

    def reject(_asset: UUID, reason: str, detail: str) -> None:
        rejected.append(f"{reason}: {detail}"[:MAX_TEXT])

    connection = make_connection(battery, reject, is_check=True)
    started_s = time.monotonic()
    with _collect_warnings() as warnings:
        connection.start(deliver)
        all_there.wait(listen_s if configured.signals else 0)
        took_s = time.monotonic() - started_s
        connection.stop()
    findings = [Finding(battery.name, "connection", text, is_good=False) for text in dict.fromkeys(warnings)]
    findings += [Finding(battery.name, "rejected", text, is_good=False) for text in dict.fromkeys(rejected)]
    if battery.dispatch is not None and "active_power" not in configured.signals:
        lack = "without the signal active_power a battery that does not follow goes unnoticed"
        findings.append(Finding(battery.name, "watchdog", lack, is_good=False))
    for name in configured.signals:
        if name in arrived:
            findings.append(Finding(battery.name, name, f"{arrived[name]:.6g}", is_good=True))
        else:
            findings.append(Finding(battery.name, name, f"nothing arrived within {took_s:.0f} s", is_good=False))
    return findings
