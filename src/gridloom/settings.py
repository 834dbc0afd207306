"""Settings from the environment: read once, typed, with a clear sentence when a value makes no sense."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import time
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from gridloom.kernel.codes import EicKind, check_eic
from gridloom.kernel.database_address import parse_database_address
from gridloom.kernel.environment import Environment
from gridloom.kernel.market_stages import Stage
from gridloom.kernel.networks import Network, parse_address, parse_network
from gridloom.kernel.shares import ShareLimits


class SettingsError(Exception):
    """One sentence for each setting that makes no sense."""


_RESERVE_LEAD_S: Final = 3600
_AUCTION_LEAD_S: Final = 600


@dataclass(frozen=True, slots=True)
class Settings:
    environment: Environment = "sandbox"
    database_url: str | None = field(default=None, repr=False)
    read_database_urls: tuple[str, ...] = field(default=(), repr=False)
    telemetry_database_url: str | None = field(default=None, repr=False)
    home: Path = Path(".gridloom")
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 2
    base_url: str = "http://127.0.0.1:8000"
    sandbox_base_url: str = "http://127.0.0.1:8000"
    bootstrap_username: str | None = None
    bootstrap_password: str | None = field(default=None, repr=False)
    simulator: bool = True
    simulator_seed: int = 1
    simulator_days: int = 30
    clock_movers: Literal["everyone", "operator"] = "everyone"
    gate_closure_fcr: time = time(8)
    gate_closure_afrr_capacity: time = time(9)
    gate_closure_afrr_energy_minutes: int = 25
    gate_opening: time = time(10)
    gate_opening_fcr_days: int = 14
    gate_opening_afrr_days: int = 7
    reserve_minutes_fcr: int = 15
    reserve_minutes_afrr: int = 60
    reserve_minutes_afrr_energy: int = 15
    order_leads: Mapping[Stage, int] = field(default_factory=dict)
    document_receiver_eic: str = "10X1001A1001A450"
    pool_size: int = 10
    shares: ShareLimits = field(default_factory=ShareLimits)
    public_rate_limit_per_minute: int = 60_000
    monitoring_retention_days: int | None = None
    metrics_token: str | None = field(default=None, repr=False)
    metrics_port: int | None = None
    secrets_key: str | None = field(default=None, repr=False)
    former_secrets_keys: tuple[str, ...] = field(default=(), repr=False)
    cors_origins: tuple[str, ...] = ()
    trusts_proxy: bool = False
    trusted_proxies: tuple[Network, ...] = ()
    feeds: tuple[str, ...] = ()
    feed_smard_url: str | None = None
    feed_energy_charts_url: str | None = None
    feed_entsoe_url: str | None = None
    feed_regelleistung_url: str | None = None
    feed_netztransparenz_url: str | None = None
    feed_netztransparenz_token_url: str | None = None
    entsoe_token: str | None = field(default=None, repr=False)
    netztransparenz_client_id: str | None = field(default=None, repr=False)
    netztransparenz_client_secret: str | None = field(default=None, repr=False)
    security_contact: str = "mailto:security@localhost"
    smtp_url: str | None = field(default=None, repr=False)
    mail_from: str = "Gridloom <noreply@localhost>"
    traces_url: str | None = None
    traces_percent: int = 100
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    access_log: bool = False
    shutdown_grace_s: int = 15
    is_embedded: bool = False
    """Whether the database is our own: `serve` says so, no variable does."""

    def order_lead_s(self, stage: Stage) -> int:
        """How long before the gate of the exchange orders are taken; a sandbox's market needs no time."""
        if self.environment == "sandbox":
            return self.order_leads.get(stage, 0)
        return self.order_leads.get(stage, _RESERVE_LEAD_S if stage.is_reserve else _AUCTION_LEAD_S)

    @property
    def listens_on_loopback(self) -> bool:
        """Whether only this machine reaches the service."""
        address = parse_address(self.host.strip("[]"))
        return self.host == "localhost" or (address is not None and address.is_loopback)

    @property
    def is_behind_tls(self) -> bool:
        """Whether a production is reached over https, as its address says."""
        return self.environment == "production" and self.base_url.startswith("https://")

    @property
    def is_behind_proxy(self) -> bool:
        return self.trusts_proxy or bool(self.trusted_proxies)


def read_settings(environ: Mapping[str, str] | None = None, env_file: Path | None = None) -> Settings:
    """The settings of this process: its environment, then the file `.env`, then the defaults."""
    settings, faults = parse_settings(environ, env_file)
    if faults:
        raise SettingsError("\n".join(faults.values()))
    return settings


def parse_settings(
    environ: Mapping[str, str] | None = None, env_file: Path | None = None
) -> tuple[Settings, dict[str, str]]:
    """The settings, with the default in place of each value that makes no sense, and a sentence for each of those by
    its variable."""
    values = {**_read_env_file(env_file or Path(".env")), **(os.environ if environ is None else environ)}
    known: dict[str, Any] = {}
    faults = _read_secret_files(values)
    for variable, (name, parse) in VARIABLES.items():
        text = values.get(variable, "").strip()
        if not text:
            continue
        try:
            known[name] = parse(text)
        except ValueError as error:
            faults[variable] = f"{variable} {error}."
    limits = {name.removeprefix(_SHARE): known.pop(name) for name in list(known) if name.startswith(_SHARE)}
    settings = Settings(**known, shares=ShareLimits(**limits))
    address = address_of(settings)
    completed = replace(
        settings,
        base_url=known.get("base_url", address),
        sandbox_base_url=known.get("sandbox_base_url", known.get("base_url", address)),
        log_format=known.get("log_format", "json" if settings.environment == "production" else "console"),
        simulator=known.get("simulator", settings.environment == "sandbox") and settings.environment == "sandbox",
    )
    key = completed.secrets_key
    if completed.environment == "production" and key is not None and len(key) < MIN_SECRETS_KEY_LENGTH:
        faults["GRIDLOOM_SECRETS_KEY"] = (
            f"GRIDLOOM_SECRETS_KEY has {len(key)} characters; a production needs {MIN_SECRETS_KEY_LENGTH} random ones, "
            "for example from openssl rand -base64 32. A former key goes into GRIDLOOM_FORMER_SECRETS_KEYS."
        )
    return completed, faults


def _read_secret_files(values: dict[str, str]) -> dict[str, str]:
    """Read each `NAME_FILE` into `NAME`; a sentence for each that cannot be read."""
    faults = {}
    for variable in SECRETS:
        place = values.get(f"{variable}_FILE", "").strip()
        if not place:
            continue
        if values.get(variable, "").strip():
            faults[variable] = f"Set {variable} or {variable}_FILE, not both."
            continue
        try:
            values[variable] = Path(place).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            faults[variable] = f"{variable}_FILE names {place}, which cannot be read: {reason}."
    return faults


def address_of(settings: Settings) -> str:
    """Where a person on this machine finds the service."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)  # noqa: S104
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    return f"http://{host}:{settings.port}"


def _read_text(text: str) -> str:
    return text


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"must be {' or '.join(words)}, not {text!r}")
        return text.lower()

    return parse


def _whole_between(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {text!r}")
        return int(text)

    return parse


def _time_of_day(text: str) -> time:
    if not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", text, re.ASCII):
        raise ValueError(f"must be a time of day such as 08:00, not {text!r}")
    return time.fromisoformat(text)


def _read_leads(text: str) -> dict[Stage, int]:
    """`FCR=3600,IDA1=600`: seconds by stage."""
    leads: dict[Stage, int] = {}
    for part in text.split(","):
        name, equals, seconds = part.strip().partition("=")
        if not equals or name not in Stage.__members__ or not re.fullmatch(r"[0-9]{1,5}", seconds, re.ASCII):
            raise ValueError(
                f"must list seconds by stage, such as FCR=3600,IDA1=600, of {', '.join(Stage)}, not {part.strip()!r}"
            )
        leads[Stage(name)] = int(seconds)
    return leads


def _party_eic(text: str) -> str:
    try:
        return check_eic(text, EicKind.PARTY)
    except ValueError as error:
        raise ValueError(f"must be the EIC of a party. {str(error).rstrip('.')}") from None


def _read_switch(text: str) -> bool:
    if text.lower() in ("on", "true", "yes", "1"):
        return True
    if text.lower() in ("off", "false", "no", "0"):
        return False
    raise ValueError(f"must be on or off, not {text!r}")


def _read_address(*schemes: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        parts = urlsplit(text)
        if parts.scheme not in schemes or not (parts.netloc or parts.query or parts.path):
            raise ValueError(f"must be an address that starts with {' or '.join(f'{s}://' for s in schemes)}")
        return text.rstrip("/")

    return parse


def _read_database_addresses(text: str) -> tuple[str, ...]:
    """Several with spaces in between: a comma may stand within one."""
    return tuple(parse_database_address(address) for address in text.split())


def _read_contact(text: str) -> str:
    if not re.fullmatch(r"(mailto:|https://|tel:)[^\s]+", text):
        raise ValueError("must be an address such as mailto:security@example.org or https://example.org/security")
    return text


def _read_networks(text: str) -> tuple[Network, ...]:
    try:
        return tuple(parse_network(part) for part in re.split(r"[\s,]+", text) if part)
    except ValueError as error:
        raise ValueError(f"must list networks such as 10.0.0.0/8 or single addresses: {error}") from None


def _read_origins(text: str) -> tuple[str, ...]:
    origins = tuple(origin.strip().rstrip("/") for origin in text.split(",") if origin.strip())
    for origin in origins:
        if origin != "*" and (urlsplit(origin).scheme not in ("http", "https") or urlsplit(origin).path):
            raise ValueError(f"must list origins such as https://console.example.com, not {origin!r}")
    return origins


FEED_NAMES = ("smard", "energy-charts", "entsoe", "regelleistung", "netztransparenz")


def _read_feeds(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    unknown = [name for name in names if name not in FEED_NAMES]
    if unknown:
        raise ValueError(f"must list feeds out of {', '.join(FEED_NAMES)}, not {unknown[0]!r}")
    return names


def _read_origin(text: str) -> str:
    """Scheme and host of a source that is replaced."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.path not in ("", "/"):
        raise ValueError("must be a scheme and a host such as https://feeds.example.org, without a path")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must be a scheme and a host, without a user name or password")
    return text.rstrip("/")


def _read_collector(text: str) -> str:
    """Where traces go, which takes the packages of an extra."""
    address = _read_origin(text)
    try:
        is_installed = find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # of a package above it
        is_installed = False
    if not is_installed:
        raise ValueError("needs some packages more: pip install 'gridloom[otel]'")
    return address


_SHARE = "shares."

VARIABLES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "GRIDLOOM_ENVIRONMENT": ("environment", _one_of("sandbox", "production")),
    "GRIDLOOM_DATABASE_URL": ("database_url", parse_database_address),
    "GRIDLOOM_READ_DATABASE_URL": ("read_database_urls", _read_database_addresses),
    "GRIDLOOM_TELEMETRY_DATABASE_URL": ("telemetry_database_url", parse_database_address),
    "GRIDLOOM_HOME": ("home", lambda text: Path(text).expanduser()),
    "GRIDLOOM_HOST": ("host", _read_text),
    "GRIDLOOM_PORT": ("port", _whole_between(1, 65535)),
    "GRIDLOOM_WORKERS": ("workers", _whole_between(1, 1024)),
    "GRIDLOOM_BASE_URL": ("base_url", _read_address("http", "https")),
    "GRIDLOOM_SANDBOX_BASE_URL": ("sandbox_base_url", _read_address("http", "https")),
    "GRIDLOOM_BOOTSTRAP_USERNAME": ("bootstrap_username", _read_text),
    "GRIDLOOM_BOOTSTRAP_PASSWORD": ("bootstrap_password", _read_text),
    "GRIDLOOM_SIMULATOR": ("simulator", _read_switch),
    "GRIDLOOM_SIMULATOR_SEED": ("simulator_seed", _whole_between(0, 2**31 - 1)),
    "GRIDLOOM_SIMULATOR_DAYS": ("simulator_days", _whole_between(0, 365)),
    "GRIDLOOM_SANDBOX_CLOCK": ("clock_movers", _one_of("everyone", "operator")),
    "GRIDLOOM_GATE_CLOSURE_FCR": ("gate_closure_fcr", _time_of_day),
    "GRIDLOOM_GATE_CLOSURE_AFRR_CAPACITY": ("gate_closure_afrr_capacity", _time_of_day),
    "GRIDLOOM_GATE_CLOSURE_AFRR_ENERGY_MINUTES": ("gate_closure_afrr_energy_minutes", _whole_between(0, 10_000)),
    "GRIDLOOM_GATE_OPENING": ("gate_opening", _time_of_day),
    "GRIDLOOM_GATE_OPENING_FCR_DAYS": ("gate_opening_fcr_days", _whole_between(1, 100_000)),
    "GRIDLOOM_GATE_OPENING_AFRR_DAYS": ("gate_opening_afrr_days", _whole_between(1, 100_000)),
    "GRIDLOOM_RESERVE_MINUTES_FCR": ("reserve_minutes_fcr", _whole_between(0, 1440)),
    "GRIDLOOM_RESERVE_MINUTES_AFRR": ("reserve_minutes_afrr", _whole_between(0, 1440)),
    "GRIDLOOM_RESERVE_MINUTES_AFRR_ENERGY": ("reserve_minutes_afrr_energy", _whole_between(0, 1440)),
    "GRIDLOOM_ORDER_LEADS": ("order_leads", _read_leads),
    "GRIDLOOM_DOCUMENT_RECEIVER_EIC": ("document_receiver_eic", _party_eic),
    "GRIDLOOM_POOL_SIZE": ("pool_size", _whole_between(4, 1000)),
    "GRIDLOOM_RATE_LIMIT": ("shares.requests_per_minute", _whole_between(1, 1_000_000_000)),
    "GRIDLOOM_RATE_BURST": ("shares.request_burst", _whole_between(1, 1_000_000_000)),
    "GRIDLOOM_SHARE_BODY_BYTES": ("shares.body_bytes", _whole_between(1024, 2**40)),
    "GRIDLOOM_SHARE_MIN_BODY_RATE": ("shares.min_body_bytes_per_s", _whole_between(0, 2**30)),
    "GRIDLOOM_SHARE_COMPUTATIONS": ("shares.computations_running", _whole_between(1, 1000)),
    "GRIDLOOM_SHARE_COMPUTATIONS_WAITING": ("shares.computations_waiting", _whole_between(0, 10_000)),
    "GRIDLOOM_SHARE_JOBS": ("shares.jobs_running", _whole_between(1, 1000)),
    "GRIDLOOM_SHARE_JOBS_QUEUED": ("shares.jobs_queued", _whole_between(1, 100_000)),
    "GRIDLOOM_SHARE_EVENT_STREAMS": ("shares.event_streams", _whole_between(1, 1_000_000)),
    "GRIDLOOM_SHARE_READS": ("shares.reads_running", _whole_between(1, 1000)),
    "GRIDLOOM_SHARE_READS_WAITING": ("shares.reads_waiting", _whole_between(0, 10_000)),
    "GRIDLOOM_SHARE_UNREAD_BYTES": ("shares.unread_bytes", _whole_between(1024, 2**40)),
    "GRIDLOOM_SHARE_MIN_READER_RATE": ("shares.min_reader_bytes_per_s", _whole_between(0, 2**30)),
    "GRIDLOOM_SHARE_SLOW_READER_SECONDS": ("shares.slow_reader_s", _whole_between(1, 3600)),
    "GRIDLOOM_SHARE_INVITATIONS": ("shares.invitations", _whole_between(1, 1_000_000)),
    "GRIDLOOM_SHARE_API_KEYS": ("shares.api_keys", _whole_between(1, 1_000_000)),
    "GRIDLOOM_SHARE_USER_API_KEYS": ("shares.api_keys_per_user", _whole_between(1, 1_000_000)),
    "GRIDLOOM_PUBLIC_RATE_LIMIT": ("public_rate_limit_per_minute", _whole_between(1, 1_000_000_000)),
    "GRIDLOOM_MONITORING_RETENTION_DAYS": ("monitoring_retention_days", _whole_between(1, 36_500)),
    "GRIDLOOM_METRICS_TOKEN": ("metrics_token", _read_text),
    "GRIDLOOM_METRICS_PORT": ("metrics_port", _whole_between(1, 65535)),
    "GRIDLOOM_SECRETS_KEY": ("secrets_key", _read_text),
    "GRIDLOOM_FORMER_SECRETS_KEYS": ("former_secrets_keys", lambda text: tuple(text.split())),
    "GRIDLOOM_CORS_ORIGINS": ("cors_origins", _read_origins),
    "GRIDLOOM_TRUSTED_PROXIES": ("trusted_proxies", _read_networks),
    "GRIDLOOM_TRUST_PROXY": ("trusts_proxy", _read_switch),
    "GRIDLOOM_SECURITY_CONTACT": ("security_contact", _read_contact),
    "GRIDLOOM_FEEDS": ("feeds", _read_feeds),
    "GRIDLOOM_FEED_SMARD_URL": ("feed_smard_url", _read_origin),
    "GRIDLOOM_FEED_ENERGY_CHARTS_URL": ("feed_energy_charts_url", _read_origin),
    "GRIDLOOM_FEED_ENTSOE_URL": ("feed_entsoe_url", _read_origin),
    "GRIDLOOM_FEED_REGELLEISTUNG_URL": ("feed_regelleistung_url", _read_origin),
    "GRIDLOOM_FEED_NETZTRANSPARENZ_URL": ("feed_netztransparenz_url", _read_origin),
    "GRIDLOOM_FEED_NETZTRANSPARENZ_TOKEN_URL": ("feed_netztransparenz_token_url", _read_origin),
    "GRIDLOOM_ENTSOE_TOKEN": ("entsoe_token", _read_text),
    "GRIDLOOM_NETZTRANSPARENZ_CLIENT_ID": ("netztransparenz_client_id", _read_text),
    "GRIDLOOM_NETZTRANSPARENZ_CLIENT_SECRET": ("netztransparenz_client_secret", _read_text),
    "GRIDLOOM_SMTP_URL": ("smtp_url", _read_address("smtp", "smtps")),
    "GRIDLOOM_MAIL_FROM": ("mail_from", _read_text),
    "GRIDLOOM_TRACES_URL": ("traces_url", _read_collector),
    "GRIDLOOM_TRACES_PERCENT": ("traces_percent", _whole_between(1, 100)),
    "GRIDLOOM_LOG_FORMAT": ("log_format", _one_of("console", "json")),
    "GRIDLOOM_LOG_LEVEL": ("log_level", _one_of("debug", "info", "warning", "error")),
    "GRIDLOOM_ACCESS_LOG": ("access_log", _read_switch),
    "GRIDLOOM_SHUTDOWN_GRACE": ("shutdown_grace_s", _whole_between(1, 600)),
}
"""Each variable, the setting that it fills (after `shares.` one of the limits) and how it is read."""


SECRETS = (
    "GRIDLOOM_DATABASE_URL",
    "GRIDLOOM_READ_DATABASE_URL",
    "GRIDLOOM_TELEMETRY_DATABASE_URL",
    "GRIDLOOM_BOOTSTRAP_PASSWORD",
    "GRIDLOOM_METRICS_TOKEN",
    "GRIDLOOM_SECRETS_KEY",
    "GRIDLOOM_FORMER_SECRETS_KEYS",
    "GRIDLOOM_SMTP_URL",
    "GRIDLOOM_ENTSOE_TOKEN",
    "GRIDLOOM_NETZTRANSPARENZ_CLIENT_ID",
    "GRIDLOOM_NETZTRANSPARENZ_CLIENT_SECRET",
)
"""Variables that may also be given as `…_FILE`, which names a file with the value."""

MIN_SECRETS_KEY_LENGTH = 32

_OTHER_VARIABLES = frozenset(
    {
        *("GRIDLOOM_URL", "GRIDLOOM_PROFILE", "GRIDLOOM_USERNAME", "GRIDLOOM_PASSWORD", "GRIDLOOM_API_KEY"),
        *(
            "GRIDLOOM_KEYRING",
            "GRIDLOOM_CA_FILE",
            "GRIDLOOM_MCP_TOKEN",
            "GRIDLOOM_ADDRESS",
            "GRIDLOOM_PRICES",
            "GRIDLOOM_CHROMIUM",
            "GRIDLOOM_NEVER_SKIP",
        ),
    }
)
"""Variables of the client, its tutorials and the tests."""

_FROM_KUBERNETES = re.compile(r"GRIDLOOM(_[A-Z0-9]+)*_(SERVICE_(HOST|PORT).*|PORT(_[0-9]+_(TCP|UDP).*)?)")
"""Service links, which Kubernetes adds for a service whose name begins with `gridloom`."""


def find_unknown_variables(environ: Mapping[str, str] | None = None, env_file: Path | None = None) -> dict[str, str]:
    """Variables that begin with GRIDLOOM_ and that nothing reads, each with the nearest name that is read."""
    values = {**_read_env_file(env_file or Path(".env")), **(os.environ if environ is None else environ)}
    known = VARIABLES.keys() | {f"{name}_FILE" for name in SECRETS} | _OTHER_VARIABLES
    unknown = {}
    for name in sorted(values):
        if not name.startswith("GRIDLOOM_") or name in known or name.startswith("GRIDLOOM_TEST_"):
            continue
        if not _FROM_KUBERNETES.fullmatch(name):
            unknown[name] = _find_nearest_variable(name)
    return unknown


def _find_nearest_variable(name: str) -> str:
    """By the words after the prefix, which all of them share."""
    by_words = {known.removeprefix("GRIDLOOM_"): known for known in VARIABLES}
    nearest = get_close_matches(name.removeprefix("GRIDLOOM_"), by_words, n=1)
    return by_words[nearest[0]] if nearest else ""


def describe_unknown_variable(name: str, nearest: str) -> str:
    return f"{name} is not a setting of Gridloom{f'; did you mean {nearest}?' if nearest else '.'}"


def _read_env_file(path: Path) -> dict[str, str]:
    """`NAME=value` lines; `#` starts a comment line, quotes around a value are taken off, `export` is allowed."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, PermissionError):
        return {}
    values = {}
    for number, line in enumerate(lines, start=1):
        stripped = line.strip().removeprefix("export ")
        if not stripped or stripped.startswith("#"):
            continue
        name, equals, value = stripped.partition("=")
        if not equals:
            raise SettingsError(f"Line {number} of {path} is not NAME=value.")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        values[name.strip()] = value
    return values
