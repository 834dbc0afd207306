"""What `gridloom login` keeps: one file in the user's configuration directory that nobody else may read."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gridloom_client.errors import CredentialsError
from gridloom_client.tokens import Tokens

if sys.platform != "win32":
    import fcntl


class Credentials(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where somebody signed in, and the tokens or the key they got."""

    url: str
    tokens: Tokens | None = None
    api_key: str | None = None


def configuration_directory() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "gridloom"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "gridloom"


class CredentialsFile:
    """A token store for commands, shared by all that run at the same time."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or configuration_directory()
        self.path = self.directory / "credentials.json"

    def read(self) -> Credentials | None:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Credentials)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError):
            raise CredentialsError(f"{self.path} cannot be read: run gridloom login again.") from None

    def write(self, credentials: Credentials) -> None:
        """All of it or nothing, readable by its owner alone from the first byte on."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.path.with_suffix(f".{os.getpid()}")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(credentials))
        draft.replace(self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    # --- as a token store ---

    def load(self) -> Tokens | None:
        credentials = self.read()
        return credentials.tokens if credentials else None

    def save(self, tokens: Tokens | None) -> None:
        credentials = self.read()
        if credentials is not None:
            self.write(msgspec.structs.replace(credentials, tokens=tokens))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Only one process at a time renews: a refresh token that is used twice ends the session."""
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
