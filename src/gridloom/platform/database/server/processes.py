"""Processes that we start: as another account where we are root, and ended by the kernel when we end."""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SERVER_ACCOUNTS = ("gridloom", "postgres", "nobody")  # the first that exists runs the server when we are root
ENVIRONMENT = {"LC_ALL": "C", "PATH": os.defpath}
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None  # found now: a forked child should not look
_SET_PARENT_DEATH_SIGNAL = 1


class EmbeddedPostgresError(Exception):
    """The embedded server cannot run, in a sentence that says why."""


@dataclass(frozen=True, slots=True)
class OsUser:
    """The user that PostgreSQL runs as: ourselves, or an unprivileged one when we are root."""

    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        return self.uid != os.geteuid()


class TraversablePath:
    """A directory's name for a process of another account that may not traverse the directory's parents.

    We open it and pass the descriptor on: /proc/self/fd/N leads straight to the directory itself.
    """

    def __init__(self, directory: Path, account: OsUser) -> None:
        self.name = str(directory)
        self.descriptors: tuple[int, ...] = ()
        if account.is_other:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            self.descriptors = (descriptor,)
            self.name = f"/proc/self/fd/{descriptor}"

    def __enter__(self) -> "TraversablePath":
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def server_account(data: Path) -> OsUser:
    if os.geteuid() != 0:
        try:
            pwd.getpwuid(os.geteuid())
        except KeyError:
            raise EmbeddedPostgresError(
                f"PostgreSQL needs a user with a name and {os.geteuid()} has none in /etc/passwd. "
                "Give it one, or set GRIDLOOM_DATABASE_URL to a server of your own."
            ) from None
        return OsUser(os.geteuid(), os.getegid())
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return OsUser(owner.st_uid, owner.st_gid)
    for name in SERVER_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return OsUser(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError("PostgreSQL does not run as root. Add a user named gridloom for it.")


def run_command(command: list[str], account: OsUser, path: TraversablePath, text: str = "") -> None:
    done = subprocess.run(  # noqa: S603
        command,
        input=text,
        text=True,
        capture_output=True,
        cwd="/",
        env=ENVIRONMENT,
        pass_fds=path.descriptors,
        check=False,
        user=account.uid if account.is_other else None,
        group=account.gid if account.is_other else None,
        extra_groups=[] if account.is_other else None,
    )
    if done.returncode:
        raise EmbeddedPostgresError(f"{Path(command[0]).name} failed: {done.stderr.strip() or done.stdout.strip()}")


def end_with_parent(parent: int, sign: signal.Signals) -> None:
    """Have the kernel send us `sign` when the thread that started us ends, however it ends (Linux).

    To be called in the child, after a change of user, which would clear the wish.
    """
    if _PRCTL is None:
        return
    _PRCTL(_SET_PARENT_DEATH_SIGNAL, int(sign))
    if os.getppid() != parent:
        os._exit(1)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def find_processes_by_cluster_name(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in command and b"postgres" in command:
            found.append(int(entry.name))
    return found
