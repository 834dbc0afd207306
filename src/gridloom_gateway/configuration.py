"""The configuration of a gateway: one TOML file, whose mistakes are said with their line and the nearest right name."""

from __future__ import annotations

import os
import re
import ssl
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Meta

Unit: TypeAlias = Literal["W", "kW", "MW", "Wh", "kWh", "MWh", "%", "ratio", "°C", "Hz", ""]
TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
RegisterType: TypeAlias = Literal["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
Positive: TypeAlias = Annotated[float, Meta(gt=0)]
SignalName: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9_.]{1,64}$")]

UNIT_FACTORS: Final[dict[str, float]] = {"W": 0.001, "MW": 1000.0, "Wh": 0.001, "MWh": 1000.0, "ratio": 100.0}
"""From a unit of the site to the platform's, kW, kWh and %; 1 for all others."""
MAX_SECRET_BYTES: Final = 4096


class ConfigurationError(Exception):
    """The configuration cannot be used; the text is for the person who wrote it."""


class _Struct(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    pass


class Service(_Struct, frozen=True):
    """`key_file` or the environment variable `key_env` holds an API key; `sandbox` takes its clock for now."""

    url: str
    key_file: str | None = None
    key_env: str = "GRIDLOOM_API_KEY"
    ca_file: str | None = None
    sandbox: bool = False


class Gateway(_Struct, frozen=True):
    """`directory` holds what must survive a crash. The clocks are compared every 20 s, in a sandbox every second, where
    `clock_every_s` says nothing else."""

    directory: str
    clock_every_s: Positive | None = None
    send_every_s: Positive = 1.0
    batch_samples: Annotated[int, Meta(ge=1, le=500_000)] = 20_000
    spool_limit_mb: Annotated[int, Meta(ge=1)] = 200


class Signal(_Struct, frozen=True):
    """A value of the site is multiplied by `scale` and `sign` and taken from `unit` to the platform's. A change of less
    than `dead_band` (in the platform's unit) is not sent, for a minute at most."""

    scale: float = 1.0
    sign: Literal[1, -1] = 1
    unit: Unit = ""
    dead_band: Annotated[float, Meta(ge=0)] = 0.0

    @property
    def factor(self) -> float:
        return self.scale * self.sign * UNIT_FACTORS.get(self.unit, 1.0)


class TopicSignal(Signal, frozen=True, kw_only=True):
    """`field` is the value's place in a JSON object, with dots between levels; without one the payload is a number."""

    topic: str
    field: str | None = None


class RegisterSignal(Signal, frozen=True, kw_only=True):
    register: Annotated[int, Meta(ge=0, le=65535)]
    table: Literal["holding", "input"] = "holding"
    type: RegisterType = "int16"


class TopicSetPoint(Signal, frozen=True, kw_only=True):
    """`control_topic` says who is in control, retained: `gridloom` or `site`; the last will is `site`."""

    topic: str
    control_topic: str | None = None
    retain: bool = False


class RegisterSetPoint(Signal, frozen=True, kw_only=True):
    """`control_register` is 1 while the gateway writes set-points and 0 while the site is on its own;
    `heartbeat_register` counts on with each write."""

    register: Annotated[int, Meta(ge=0, le=65535)]
    type: RegisterType = "int16"
    control_register: Annotated[int, Meta(ge=0, le=65535)] | None = None
    heartbeat_register: Annotated[int, Meta(ge=0, le=65535)] | None = None


class Mqtt(_Struct, frozen=True):
    """`time_field` is the place of a JSON object's own time, a number of `time_unit` or RFC 3339; else it is now."""

    host: str
    port: Port = 8883
    tls: bool = True
    ca_file: str | None = None
    username: str | None = None
    password_file: str | None = None
    password_env: str | None = None
    client_id: str | None = None
    time_field: str | None = None
    time_unit: TimeUnit | None = None
    signals: dict[SignalName, TopicSignal] = {}
    set_point: TopicSetPoint | None = None


class Modbus(_Struct, frozen=True):
    host: str
    port: Port = 502
    device_id: Annotated[int, Meta(ge=0, le=255)] = 1
    poll_every_s: Positive = 1.0
    timeout_s: Positive = 3.0
    word_order: Literal["big", "little"] = "big"
    signals: dict[SignalName, RegisterSignal] = {}
    set_point: RegisterSetPoint | None = None


class Dispatch(_Struct, frozen=True):
    """`at_end`: when the plan has run out, the gateway stops writing, or writes zero."""

    max_charge_kw: Annotated[float, Meta(ge=0)]
    max_discharge_kw: Annotated[float, Meta(ge=0)]
    write_every_s: Positive = 10.0
    ramp_kw_per_s: Positive | None = None
    follow_within_s: Positive = 60.0
    tolerance_kw: Positive | None = None
    at_end: Literal["stop", "zero"] = "stop"

    @property
    def deviation_kw(self) -> float:
        """Beyond it the battery does not follow: 5 % of the larger limit where nothing else is configured."""
        return self.tolerance_kw or max(0.05 * max(self.max_charge_kw, self.max_discharge_kw), 1.0)

    def allows(self, power_kw: float) -> bool:
        return -self.max_charge_kw <= power_kw <= self.max_discharge_kw


class Battery(_Struct, frozen=True):
    asset: UUID
    name: str
    mqtt: Mqtt | None = None
    modbus: Modbus | None = None
    dispatch: Dispatch | None = None


class Configuration(_Struct, frozen=True):
    service: Service
    gateway: Gateway
    batteries: Annotated[list[Battery], Meta(min_length=1)]


def load_configuration(path: Path) -> Configuration:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}.") from None
    try:
        made = msgspec.convert(document, Configuration)
    except msgspec.ValidationError as error:
        raise ConfigurationError(_explain_fault(path, text, str(error))) from None
    for index, battery in enumerate(made.batteries):
        if fault := _find_fault(battery):
            raise ConfigurationError(f"{path}:{_find_line(text, ['batteries', index])}: {battery.name}: {fault}")
    names = [battery.name for battery in made.batteries]
    assets = [battery.asset for battery in made.batteries]
    for index, (name, asset) in enumerate(zip(names, assets, strict=True)):
        if name in names[:index] or asset in assets[:index]:
            line = _find_line(text, ["batteries", index])
            raise ConfigurationError(f"{path}:{line}: {name}: another battery has the same name or asset.")
    return made


def _find_fault(battery: Battery) -> str | None:
    connection = battery.mqtt or battery.modbus
    if connection is None or (battery.mqtt and battery.modbus):
        return "give it one connection, [batteries.mqtt] or [batteries.modbus]."
    if battery.dispatch is not None and connection.set_point is None:
        return "its dispatch needs a set_point in its connection."
    if battery.dispatch is None and connection.set_point is not None:
        return "its set_point needs [batteries.dispatch] with max_charge_kw and max_discharge_kw."
    if not connection.signals and connection.set_point is None:
        return "it has neither signals nor a set_point."
    return None


def read_secret(file: str | None, variable: str | None, purpose: str) -> str:
    """The secret in a file or an environment variable; it is never in the configuration itself."""
    if file is not None:
        try:
            return Path(file).read_text(encoding="utf-8")[:MAX_SECRET_BYTES].strip()
        except OSError as error:
            raise ConfigurationError(f"The file of {purpose} cannot be read: {error}.") from None
    found = os.environ.get(variable or "")
    if not found:
        raise ConfigurationError(f"There is no {purpose}: set {variable} or name a file in the configuration.")
    return found


def make_trust(ca_file: str | None) -> ssl.SSLContext:
    """Which certificates are trusted: the system's, or those of a file."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"The certificates in {ca_file} cannot be read: {error}.") from None


# --- where a mistake stands ------------------------------------------------------------------------------------------


def _explain_fault(path: Path, text: str, message: str) -> str:
    """A sentence of msgspec such as "Object contains unknown field `topik` - at `$.batteries[0].mqtt`"."""
    what, _, where = message.partition(" - at `$")
    steps: list[str | int] = [
        int(number) if number else name or key
        for name, number, key in re.findall(r"\.(\w+)|\[(\d+)\]|\[(\.\.\.)\]", where)
    ]
    unknown = re.search(r"unknown field `(.+?)`", what)
    if unknown is None:
        return f"{path}:{_find_line(text, steps)}: {what}: {_name_place(steps)}."
    known = _list_known_fields(steps)
    nearest = get_close_matches(unknown[1], known, n=1, cutoff=0.4)
    hint = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(known)}."
    line = _find_line(text, [*steps, unknown[1]])
    return f"{path}:{line}: {_name_place([*steps, unknown[1]])} is not known; {hint}"


def _name_place(steps: list[str | int]) -> str:
    return ".".join(str(step) for step in steps if not isinstance(step, int)) or "the file"


def _list_known_fields(steps: list[str | int]) -> list[str]:
    kind: Any = Configuration
    for step in steps:
        kind = _step_into(kind, step)
    return [field.encode_name for field in msgspec.structs.fields(kind)] if isinstance(kind, type) else []


def _step_into(kind: Any, step: str | int) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        kind = next((field.type for field in msgspec.structs.fields(kind) if field.encode_name == step), None)
    else:
        kind = next(iter(reversed(getattr(kind, "__args__", (None,)))))
    while not isinstance(kind, type) and hasattr(kind, "__metadata__"):
        kind = kind.__origin__
    options = [one for one in getattr(kind, "__args__", ()) if one is not type(None)]
    is_union = type(None) in getattr(kind, "__args__", ())
    return options[0] if is_union and len(options) == 1 else kind


def _find_line(text: str, steps: list[str | int]) -> int:
    """The line of the deepest step that the text names, counted from 1."""
    wanted = [step for step in steps if step != "..."]
    best, depth = 1, 0
    for number, path in _list_lines(text):
        matched = 0
        for step, found in zip(wanted, path, strict=False):
            if step != found:
                break
            matched += 1
        if matched > depth:
            best, depth = number, matched
    return best


def _list_lines(text: str) -> Iterator[tuple[int, list[str | int]]]:
    """Each line that opens a table or gives a key, with the path that it names."""
    counts: dict[str, int] = {}
    table: list[str | int] = []
    for number, line in enumerate(text.splitlines(), 1):
        if opened := re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line):
            names: list[str | int] = [name.strip(" \"'") for name in opened[2].split(".")]
            if opened[1] == "[[":
                counts[opened[2]] = counts.get(opened[2], -1) + 1
                table = [*names, counts[opened[2]]]
            else:
                table = [names[0], counts[str(names[0])], *names[1:]] if names[0] in counts else names
            yield number, table
        elif key := re.match(r"\s*([\w\".-]+)\s*=", line):
            here = [*table, *(name.strip('"') for name in key[1].split("."))]
            yield number, here
            for inner in re.findall(r"[{,]\s*(\w+)\s*=", line):
                yield number, [*here, inner]
