"""The MQTT broker of a simulated field: Debian's mosquitto as a process of its own."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
START_S: Final = 10.0


class FieldError(Exception):
    """The field cannot be set up, in a sentence that says why."""


def check_ports(ports: Iterable[int]) -> None:
    for port in ports:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((HOST, port))
            except OSError:
                raise FieldError(
                    f"Port {port} is taken. Name others: gridloom gateway field --mqtt-port N --modbus-port N."
                ) from None


@contextmanager
def run_broker(directory: Path, port: int) -> Iterator[None]:
    """Mosquitto on this machine alone, for anybody on it, which keeps what it holds on disk."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise FieldError("The simulated field needs the MQTT broker mosquitto: apt-get install mosquitto.")
    file = directory / "mosquitto.conf"
    file.write_text(
        f"user {getpass.getuser()}\nlistener {port} {HOST}\nallow_anonymous true\nmax_queued_messages 0\n"
        f"persistence true\npersistence_location {directory.absolute()}/\n",
        encoding="utf-8",
    )
    with (directory / "broker.log").open("ab") as out:
        broker = subprocess.Popen([program, "-c", str(file)], stdout=out, stderr=out)  # noqa: S603
    try:
        _await_port(broker, port, directory)
        yield
    finally:
        end_process(broker)


def _await_port(broker: subprocess.Popen[bytes], port: int, directory: Path) -> None:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s and broker.poll() is None:
        with suppress(OSError), socket.create_connection((HOST, port), 0.2):
            return
        time.sleep(0.1)
    raise FieldError(f"The MQTT broker does not start on port {port}; {directory / 'broker.log'} says why.")


def end_process(process: subprocess.Popen[bytes] | None) -> None:
    if process is not None and process.poll() is None:
        process.terminate()
        try:
            process.wait(START_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
