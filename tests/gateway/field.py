"""A broker, sites, a service and a gateway, each a process or a thread of its own, to be killed and started again."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.journeys.service import Service, wait_until
from tests.ports import free_port

MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
USERNAME, PASSWORD = "field", "a broker's password 5"
PARAMETERS = {"chargeEfficiency": 0.95, "dischargeEfficiency": 0.95}


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """Of 127.0.0.1, signed by itself; and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = directory / "broker.pem", directory / "broker-key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    paths[1].write_bytes(private)
    return paths


class Broker:
    """Mosquitto with TLS and a password, which keeps what it holds for its clients on disk."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.port = directory, free_port()
        self.certificate, key = make_certificate(directory)
        passwords = directory / "passwords"
        subprocess.run(["mosquitto_passwd", "-b", "-c", str(passwords), USERNAME, PASSWORD], check=True)
        passwords.chmod(0o600)
        (directory / "mosquitto.conf").write_text(
            f"user {os.environ.get('USER') or 'root'}\nlistener {self.port} 127.0.0.1\nallow_anonymous false\n"
            f"password_file {passwords}\ncertfile {self.certificate}\nkeyfile {key}\n"
            f"persistence true\npersistence_location {directory}/\nmax_queued_messages 0\nmax_inflight_messages 0\n"
            "autosave_interval 1\nautosave_on_changes false\nlog_type all\n"
        )
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def start(self) -> None:
        with (self.directory / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(
                [MOSQUITTO, "-c", str(self.directory / "mosquitto.conf")], stdout=log, stderr=log
            )
        wait_until(lambda: _is_listening(self.port), 20)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@dataclass
class Gateway:
    """`gridloom gateway run` on a configuration."""

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def configure(self, service_url: str, key: str, batteries: str, *, settings: str = "") -> None:
        (self.directory / "key").write_text(key + "\n")
        (self.directory / "password").write_text(PASSWORD + "\n")
        self.file.write_text(
            f'[service]\nurl = "{service_url}"\nkey_file = "{self.directory / "key"}"\nsandbox = true\n'
            f'[gateway]\ndirectory = "{self.directory / "state"}"\nsend_every_s = 0.2\n{settings}\n{batteries}'
        )

    @property
    def file(self) -> Path:
        return self.directory / "gateway.toml"

    @property
    def log(self) -> str:
        return (self.directory / "gateway.log").read_text()

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from gridloom.entry import main; main()", "gateway", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def start(self) -> None:
        with (self.directory / "gateway.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from gridloom.entry import main; main()", "gateway", "run", str(self.file)],
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(30)


class Platform:
    """What tests ask of the service, as its operator, who also owns the batteries."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.token = service.operator_token()
        self.organisation_id = self.ask("GET", "/auth/me")["organisationID"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.service.port}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.service.call(method, path, body, self.token)
        assert status < 300, (status, answer)
        return answer

    def register(self, name: str, power_kw: float = 1000.0) -> str:
        parameters = {
            "ratedChargePower": power_kw,
            "ratedDischargePower": power_kw,
            "energyCapacity": 4 * power_kw,
            **PARAMETERS,
        }
        body = {
            "name": name,
            "deliveryZone": "TenneT",
            "organisationID": self.organisation_id,
            "parameters": parameters,
        }
        return str(self.ask("POST", "/physical-assets", body)["id"])

    def back_virtual_asset(self, assets: list[str], start: datetime.datetime) -> None:
        """Batteries that back a virtual one are dispatched, what their owner schedules included."""
        holder = self.ask("POST", "/organisations", {"name": f"Holder {start.isoformat()}", "kind": "PARTICIPANT"})
        body = {
            "name": "Loom",
            "start": start.isoformat(),
            "end": (start + datetime.timedelta(days=1)).isoformat(),
            "deliveryZone": "TenneT",
            "ratedChargePower": 100,
            "ratedDischargePower": 100,
            "energyCapacity": 200,
            **dict.fromkeys(PARAMETERS, 0.9),
            "backing": [{"physicalAssetID": asset, "share": 1 / len(assets)} for asset in assets],
        }
        self.ask("POST", f"/organisations/{holder['id']}/virtual-assets", body)

    def make_key(self, *assets: str) -> str:
        body = {
            "name": "gateway",
            "permissions": ["Create:monitoring", "Read:schedules"],
            "physicalAssetIDs": list(assets),
        }
        return str(self.ask("POST", "/auth/api-keys", body)["secret"])

    def now(self) -> datetime.datetime:
        return datetime.datetime.fromisoformat(self.ask("GET", "/sandbox/clock")["now"])

    def schedule(self, asset: str, start: datetime.datetime, powers_kw: list[float]) -> None:
        """What the owner itself has the battery do: a part of its dispatch once the gate has closed."""
        quarter = datetime.timedelta(minutes=15)
        points = [
            {"time": (start + place * quarter).isoformat(), "power": power} for place, power in enumerate(powers_kw)
        ]
        self.ask("PUT", f"/physical-assets/{asset}/schedule", {"schedule": points})

    def dispatched(self, asset: str, at: datetime.datetime) -> float | None:
        points = self.ask("GET", f"/physical-assets/{asset}/dispatch")["dispatch"]
        return next((one["power"] for one in points if datetime.datetime.fromisoformat(one["time"]) == at), None)

    def acknowledged(self, asset: str) -> list[str]:
        listed = self.ask("GET", f"/physical-assets/{asset}/dispatch/acknowledgements")
        return [one["status"] for one in reversed(listed)]

    def move_clock(self, to: datetime.datetime) -> None:
        self.ask("PUT", "/sandbox/clock", {"now": to.isoformat()})

    def read(self, asset: str, signal_name: str, start: datetime.datetime) -> dict[int, float]:
        """The stored points by milliseconds since 1970."""
        query = f"datapoints={signal_name}&start={start.strftime('%Y-%m-%dT%H:%M:%SZ')}"
        end = (start + datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        points = self.ask("GET", f"/monitoring/{asset}/datapoints?{query}&end={end}")["data"].get(signal_name, [])
        stamp = datetime.datetime.fromisoformat
        return {round(stamp(one["time"]).timestamp() * 1000): one["value"] for one in points}


def mqtt_battery(asset: str, name: str, broker: Broker, directory: Path, *, dispatch: str = "") -> str:
    """A battery of the configuration: JSON of the topics of a simulated site, and a plain number."""
    set_point = f'[batteries.mqtt.set_point]\ntopic = "{name}/set-point"\ncontrol_topic = "{name}/control"\n'
    return f"""
[[batteries]]
asset = "{asset}"
name = "{name}"
[batteries.mqtt]
host = "127.0.0.1"
port = {broker.port}
ca_file = "{broker.certificate}"
username = "{USERNAME}"
password_file = "{directory / "password"}"
time_field = "ts"
time_unit = "ms"
[batteries.mqtt.signals]
active_power = {{ topic = "{name}/meter", field = "power.active", unit = "W", sign = -1 }}
state_of_charge = {{ topic = "{name}/meter", field = "soc", unit = "ratio" }}
temperature = {{ topic = "{name}/temperature" }}
reserve_power = {{ topic = "{name}/reserve" }}
{set_point if dispatch else ""}{dispatch}
"""


def modbus_battery(asset: str, name: str, port: int, *, dispatch: str = "") -> str:
    set_point = (
        '[batteries.modbus.set_point]\nregister = 200\ntype = "int32"\nscale = 0.1\n'
        "control_register = 202\nheartbeat_register = 203\n"
    )
    return f"""
[[batteries]]
asset = "{asset}"
name = "{name}"
[batteries.modbus]
host = "127.0.0.1"
port = {port}
poll_every_s = 0.2
timeout_s = 1.0
[batteries.modbus.signals]
active_power = {{ register = 100, table = "input", type = "int32", scale = 0.1 }}
state_of_charge = {{ register = 102, type = "uint16", scale = 0.01 }}
{set_point if dispatch else ""}{dispatch}
"""


def dispatch_of(max_kw: float = 1000.0, **changes: Any) -> str:
    values = {"max_charge_kw": max_kw, "max_discharge_kw": max_kw, "write_every_s": 0.5, **changes}
    return "[batteries.dispatch]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


def _is_listening(port: int) -> bool:
    import socket

    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
        return True
    return False


def sleep_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """As `wait_until`, for conditions that cost a request."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)
