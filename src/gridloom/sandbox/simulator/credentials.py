"""How the simulator's members and the newcomer sign in: passwords made from one secret, kept in the sandbox's home."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gridloom.sandbox.simulator.scenario import ORGANISATIONS

FILE = "simulator.json"
SHUT_OUT_STATUS = 78
"""The exit code of a simulator whose login is rejected; the number means a wrong configuration."""


class SimulatorCredentials(msgspec.Struct):
    """The content of the file. The invitation lets the simulator into the operator's organisation, once."""

    secret: str
    invitation: str | None = None


@dataclass(frozen=True, slots=True)
class SignIn:
    username: str
    password: str
    organisation: str
    shown_as: str


def read_credentials(home: Path) -> SimulatorCredentials | None:
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=SimulatorCredentials)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write_credentials(home: Path, credentials: SimulatorCredentials) -> None:
    home.mkdir(parents=True, exist_ok=True)
    partial = home / f".{FILE}.partial"
    partial.touch(mode=0o600)
    partial.write_bytes(msgspec.json.encode(credentials))
    partial.replace(home / FILE)


def say_shut_out(home: Path) -> str:
    return (
        f"The simulator cannot sign in with what {home / FILE} holds: its members have other passwords here, "
        "or are gone. Start with another GRIDLOOM_HOME, or remove that file, start again and reset the sandbox."
    )


def new_secret() -> str:
    return secrets.token_urlsafe(24)


def member_name(credentials: SimulatorCredentials, slug: str) -> str:
    """Each sandbox home has members of its own, so that a home that was lost locks no member out."""
    return f"simulator-{slug}-{_digest_secret(credentials.secret, 'name')[:6]}"


def member_password(credentials: SimulatorCredentials, slug: str) -> str:
    return _digest_secret(credentials.secret, f"member {slug}")[:28]


def newcomer_sign_ins(credentials: SimulatorCredentials) -> list[SignIn]:
    """For the person who starts the sandbox: one of the traders and one of the owners."""
    found = []
    for organisation in ORGANISATIONS:
        if organisation.is_newcomers:
            word = _digest_secret(credentials.secret, f"newcomer {organisation.slug}")[:16]
            password = "-".join(word[n : n + 4] for n in range(0, 16, 4))
            username = "trader" if organisation.trades else "owner"
            found.append(SignIn(username, password, organisation.slug, organisation.name))
    return found


def _digest_secret(secret: str, purpose: str) -> str:
    made = hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).digest()
    return base64.b32encode(made).decode().lower().rstrip("=")
