"""Identities of the user by service: named profiles in one file, their secrets in the keyring where there is one.

Without a keyring (or with `GRIDLOOM_KEYRING=off`) the secrets stand in the file too, which only its owner may read.
`Client()` and every command look in the same places, in this order: what they are given, the environment
(`GRIDLOOM_URL`, `GRIDLOOM_API_KEY`, or `GRIDLOOM_USERNAME` and `GRIDLOOM_PASSWORD`), the profile in use.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from gridloom_client.errors import CredentialsError
from gridloom_client.tokens import ApiKey, InMemoryTokenStore, Password, Tokens, TokenStore

if sys.platform != "win32":
    import fcntl

DEFAULT_URL: Final = "http://127.0.0.1:8000"
DEFAULT_PROFILE: Final = "default"
NOT_SIGNED_IN: Final = "You are not signed in: run gridloom login, or set GRIDLOOM_API_KEY."
_KEYRING_SERVICE: Final = "gridloom"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Secret(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tokens or the key of a signed-in user."""

    tokens: Tokens | None = None
    api_key: str | None = None

    def __repr__(self) -> str:
        return "Secret(…)"


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A service and the identity there; `secret` is None where the keyring has it, or the user is signed out."""

    url: str
    username: str | None = None
    in_keyring: bool = False
    secret: Secret | None = None


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of the file."""

    current: str = DEFAULT_PROFILE
    profiles: dict[str, Profile] = {}


def configuration_directory() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "gridloom"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "gridloom"


class Profiles:
    """The file of profiles, shared by all processes of its owner."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or configuration_directory()
        self.path = self.directory / "profiles.json"

    # --- which there are ---

    @property
    def current(self) -> str:
        """The one in use: `GRIDLOOM_PROFILE`, else the one that was chosen with `gridloom profile use`."""
        return os.environ.get("GRIDLOOM_PROFILE") or self._read_file().current

    def all(self) -> dict[str, Profile]:
        return dict(self._read_file().profiles)

    def find(self, name: str) -> Profile | None:
        return self._read_file().profiles.get(name)

    def get(self, name: str) -> Profile:
        found = self.find(name)
        if found is None:
            known = ", ".join(self._read_file().profiles) or "none yet"
            raise CredentialsError(f"There is no profile {name}; there are: {known}. gridloom profile add makes one.")
        return found

    def use(self, name: str) -> None:
        self.get(name)
        with self.lock():
            self._write_file(msgspec.structs.replace(self._read_file(), current=name))

    def put(self, name: str, profile: Profile, secret: Secret | None = None) -> None:
        """Add or replace a profile, its secret in the keyring if that takes it."""
        if not _NAME.fullmatch(name):
            raise CredentialsError(
                f"{name!r} is no name for a profile: letters, digits, dots, hyphens and underscores."
            )
        with self.lock():
            self._put_entry(name, profile, secret)

    def remove(self, name: str) -> None:
        """The profile and its secret; what was in use falls back to the first that is left."""
        self.get(name)
        with self.lock():
            written = self._read_file()
            if written.profiles[name].in_keyring:
                _forget_in_keyring(self._keyring_name(name))
            left = {other: profile for other, profile in written.profiles.items() if other != name}
            current = written.current if written.current in left else next(iter(left), DEFAULT_PROFILE)
            self._write_file(_Written(current=current, profiles=left))

    # --- secrets ---

    def secret_of(self, name: str) -> Secret | None:
        profile = self.find(name)
        if profile is None or not profile.in_keyring:
            return profile.secret if profile else None
        content = _read_keyring(self._keyring_name(name))
        try:
            return msgspec.json.decode(content, type=Secret) if content else None
        except msgspec.DecodeError:
            return None

    def store_secret(self, name: str, secret: Secret | None) -> None:
        """Replace what is kept of a profile that exists; the caller holds the lock."""
        profile = self.find(name)
        if profile is not None:
            self._put_entry(name, profile, secret)

    def delete_secret(self, name: str) -> None:
        with self.lock():
            self.store_secret(name, None)

    def _put_entry(self, name: str, profile: Profile, secret: Secret | None) -> None:
        written = self._read_file()
        before = written.profiles.get(name)
        in_keyring = secret is not None and _write_keyring(self._keyring_name(name), msgspec.json.encode(secret))
        if before is not None and before.in_keyring and not in_keyring:
            _forget_in_keyring(self._keyring_name(name))
        kept = msgspec.structs.replace(profile, in_keyring=in_keyring, secret=None if in_keyring else secret)
        current = written.current if written.profiles else name
        if before != kept:
            self._write_file(_Written(current=current, profiles={**written.profiles, name: kept}))

    def _keyring_name(self, name: str) -> str:
        """The same profile of two configuration directories is two entries."""
        return f"{name}@{self.directory}"

    # --- the file ---

    def _read_file(self) -> _Written:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=_Written)
        except FileNotFoundError:
            return _Written()
        except (OSError, msgspec.DecodeError):
            raise CredentialsError(f"{self.path} cannot be read: repair or remove it, then gridloom login.") from None

    def _write_file(self, written: _Written) -> None:
        """All of it or nothing, readable by its owner alone from the first byte on."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.path.with_suffix(f".{os.getpid()}")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(written), indent=1))
        draft.replace(self.path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Only one process at a time writes or renews: a refresh token that is used twice ends the session."""
        if sys.platform == "win32":
            yield
            return
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.directory / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)


class ProfileTokens:
    """A profile as the store of its tokens, so that a renewed pair is there for the next command."""

    def __init__(self, profiles: Profiles, name: str) -> None:
        self.profiles, self.name = profiles, name

    def load(self) -> Tokens | None:
        secret = self.profiles.secret_of(self.name)
        return secret.tokens if secret else None

    def save(self, tokens: Tokens | None) -> None:
        self.profiles.store_secret(self.name, Secret(tokens=tokens) if tokens else None)

    def lock(self) -> contextlib.AbstractContextManager[object]:
        return self.profiles.lock()


# --- the keyring: the desktop's, or none -----------------------------------------------------------------------------


def _load_keyring() -> Any:
    """The keyring library where it has somewhere to keep things; it is slow to import, so late."""
    if os.environ.get("GRIDLOOM_KEYRING", "").lower() in ("off", "0", "no", "false"):
        return None
    try:
        import keyring

        backend = keyring.get_keyring()
        return keyring if getattr(backend, "priority", 0) > 0 else None
    except Exception:  # noqa: BLE001  # a desktop's keyring may fail in any way; then there is none
        return None


def _write_keyring(name: str, content: bytes) -> bool:
    keyring = _load_keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(_KEYRING_SERVICE, name, content.decode())
    except Exception:  # noqa: BLE001  # locked, or too long for it: the file takes it
        return False
    return True


def _read_keyring(name: str) -> str | None:
    keyring = _load_keyring()
    try:
        return keyring.get_password(_KEYRING_SERVICE, name) if keyring else None
    except Exception:  # noqa: BLE001  # locked: as if signed out
        return None


def _forget_in_keyring(name: str) -> None:
    keyring = _load_keyring()
    if keyring is not None:
        with contextlib.suppress(Exception):
            keyring.delete_password(_KEYRING_SERVICE, name)


# --- who is calling --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Identity:
    """Where to call, as whom, and where tokens are stored; without an identity where none was found."""

    url: str
    credentials: Password | ApiKey | None = None
    store: TokenStore | None = None

    @property
    def is_nobody(self) -> bool:
        return self.credentials is None and self.store is None


def find_url(url: str | None = None, profile: str | None = None, *, environ: Mapping[str, str] | None = None) -> str:
    """The address that is given, else the environment's, else the profile's, else this machine's."""
    environ = os.environ if environ is None else environ
    if url or (profile is None and environ.get("GRIDLOOM_URL")):
        return url or environ["GRIDLOOM_URL"]
    profiles = Profiles()
    found = profiles.get(profile) if profile else profiles.find(profiles.current)
    return found.url if found else environ.get("GRIDLOOM_URL") or find_local_url(environ)


def find_local_url(environ: Mapping[str, str], folder: Path | None = None) -> str:
    """Where a service on this machine answers, started from this folder: its port is in the environment or in .env."""
    port = environ.get("GRIDLOOM_PORT")
    if not port:
        try:
            text = ((folder or Path.cwd()) / ".env").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            text = ""
        written = re.search(r"^\s*(?:export\s+)?GRIDLOOM_PORT\s*=\s*[\"']?(\d+)", text, re.MULTILINE)
        port = written[1] if written else None
    return f"http://127.0.0.1:{port}" if port and port.isdigit() else DEFAULT_URL


def find_identity(url: str | None = None, profile: str | None = None) -> Identity:
    """The identity of the environment, or else of the profile in use, whose secret goes to its own address alone."""
    environ = os.environ
    if profile is None:
        if api_key := environ.get("GRIDLOOM_API_KEY"):
            return Identity(find_url(url), ApiKey(api_key), InMemoryTokenStore())
        if (username := environ.get("GRIDLOOM_USERNAME")) and (password := environ.get("GRIDLOOM_PASSWORD")):
            return Identity(find_url(url), Password(username, password), InMemoryTokenStore())
    profiles = Profiles()
    name = profile or profiles.current
    found = profiles.get(name) if profile or environ.get("GRIDLOOM_PROFILE") else profiles.find(name)
    address = find_url(url, profile)
    secret = profiles.secret_of(name)
    if found is None or secret is None:
        return Identity(address)
    if address.rstrip("/") != found.url.rstrip("/"):
        raise CredentialsError(
            f"You are signed in to {found.url}, not to {address}: run gridloom login --url {address},"
            " or choose a profile with --profile."
        )
    if secret.api_key is not None:
        return Identity(address, ApiKey(secret.api_key), InMemoryTokenStore())
    return Identity(address, None, ProfileTokens(profiles, name))
