"""`gridloom check`: whether a service with these settings could start and serve, found out without starting it."""

from __future__ import annotations

import shutil
import smtplib
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from gridloom.commands.serving.ports import find_port_fault
from gridloom.commands.serving.preflight_database import TIMEOUT_S, CheckResult, Verdict, check_database
from gridloom.platform.identity.mail import open_smtp_session
from gridloom.settings import Settings, describe_unknown_variable, find_unknown_variables, parse_settings

MIN_FREE_BYTES = 1 << 30


def run_checks() -> list[CheckResult]:
    """Every check of the settings that this process would start with; a failed one does not hide the others."""
    settings, faults = parse_settings()
    sentences = [describe_unknown_variable(name, nearest) for name, nearest in find_unknown_variables().items()]
    sentences += faults.values()
    results = [CheckResult("settings", Verdict.FAILED, sentence) for sentence in sentences]
    if not results:
        results.append(CheckResult("settings", Verdict.OK, f"{settings.environment}, {settings.base_url}"))
    if "GRIDLOOM_DATABASE_URL" not in faults:
        results += check_database(settings)
    results += _check_disk(settings)
    results += _check_ports(settings)
    results += _check_metrics(settings)
    if "GRIDLOOM_BASE_URL" not in faults:
        results += _check_proxy(settings, is_faulty="GRIDLOOM_TRUSTED_PROXIES" in faults)
    results += _check_mail(settings)
    return results


def _check_disk(settings: Settings) -> Iterator[CheckResult]:
    place = settings.home.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    verdict = Verdict.OK if free >= MIN_FREE_BYTES else Verdict.FAILED
    yield CheckResult("disk", verdict, f"{free / 1e9:.1f} GB free at {place}")


def _check_ports(settings: Settings) -> Iterator[CheckResult]:
    """A port in use is no fault where the service that is checked runs already."""
    if settings.port == settings.metrics_port:
        detail = f"GRIDLOOM_PORT and GRIDLOOM_METRICS_PORT are both {settings.port}."
        yield CheckResult("ports", Verdict.FAILED, detail)
        return
    ports = [port for port in (settings.port, settings.metrics_port) if port is not None]
    taken = {port: fault for port in ports if (fault := find_port_fault(settings.host, port)) is not None}
    for port, fault in taken.items():
        detail = f"Port {port} on {settings.host} cannot be had ({fault}), unless this service runs already."
        yield CheckResult("ports", Verdict.WARNING, detail)
    if not taken:
        yield CheckResult("ports", Verdict.OK, f"{', '.join(map(str, ports))} on {settings.host}")


def _check_metrics(settings: Settings) -> Iterator[CheckResult]:
    if settings.environment == "production" and settings.metrics_token is None and settings.metrics_port is None:
        detail = "GET /metrics is closed: set GRIDLOOM_METRICS_TOKEN or GRIDLOOM_METRICS_PORT to monitor the service."
        yield CheckResult("metrics", Verdict.WARNING, detail)


def _check_proxy(settings: Settings, *, is_faulty: bool) -> Iterator[CheckResult]:
    if settings.environment != "production":
        return
    if not settings.base_url.startswith("https://"):
        detail = f"GRIDLOOM_BASE_URL is {settings.base_url}; sessions of the console need https."
        yield CheckResult("proxy", Verdict.FAILED, detail)
    elif not settings.is_behind_proxy and not is_faulty:
        detail = "GRIDLOOM_TRUSTED_PROXIES is not set: all callers have the proxy's address and share its limits."
        yield CheckResult("proxy", Verdict.WARNING, detail)
    else:
        yield CheckResult("proxy", Verdict.OK, settings.base_url)


def _check_mail(settings: Settings) -> Iterator[CheckResult]:
    """As mail is sent: encrypted where the server offers it, and signed in."""
    if settings.smtp_url is None:
        return
    address = urlsplit(settings.smtp_url)
    host = address.hostname or "localhost"
    try:
        server = open_smtp_session(address, TIMEOUT_S)
    except smtplib.SMTPResponseException as error:
        yield CheckResult("mail", Verdict.FAILED, f"{host} refuses: {error.smtp_code} {_read_reply(error)}")
    except (OSError, smtplib.SMTPException) as error:
        yield CheckResult("mail", Verdict.FAILED, f"{host} does not answer: {error}")
    else:
        with suppress(OSError, smtplib.SMTPException):
            server.quit()
        yield CheckResult("mail", Verdict.OK, host)


def _read_reply(error: smtplib.SMTPResponseException) -> str:
    reply = error.smtp_error
    return reply.decode(errors="replace") if isinstance(reply, bytes) else reply
