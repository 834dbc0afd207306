"""A PostgreSQL of our own: a child of this process that lives and dies with it, its data in one directory.

What is promised and why it is done this way is in docs/decisions/0002-embedded-postgresql.md.
"""

import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

from gridloom.platform.database.server.binaries import Binaries, find_binaries, make_world_readable
from gridloom.platform.database.server.processes import (
    ENVIRONMENT,
    EmbeddedPostgresError,
    OsUser,
    TraversablePath,
    end_with_parent,
    find_processes_by_cluster_name,
    is_alive,
    run_command,
    server_account,
)

MAX_LOG_BYTES = 16 * 1024 * 1024
NAME = "gridloom"  # of the database and of the superuser
SERVICE_ROLE = "gridloom_service"
PLAIN_SOCKET_PATH = re.compile(r"/[\w./@+=~-]{1,88}")  # sun_path ends at 107 bytes; drivers split hosts at commas

SETTINGS = {
    "listen_addresses": "",
    "port": "5432",  # only part of the socket's name
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "8MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "2GB",
    "wal_compression": "on",
    "checkpoint_timeout": "15min",
    "max_slot_wal_keep_size": "4GB",  # a continuous backup that stopped must not fill the disk
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "1",
    "jit": "off",
    "fsync": "on",
    "full_page_writes": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # What the service can tell itself is not repeated here, and rows of refused statements stay out of files.
    "log_min_messages": "log",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] %a ",
    "lc_messages": "C",
}


class DataDirectoryLockedError(EmbeddedPostgresError):
    """Another process runs on this home."""

    def __init__(self, home: Path, pid: int | None) -> None:
        self.pid = pid
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{home} is in use by {who}. Stop it first, or set GRIDLOOM_HOME to another directory.")


class EmbeddedPostgres:
    """`home/postgres` holds the data, `home/run` the socket, `home/postgres.log` what the server says."""

    def __init__(self, home: Path, settings: Mapping[str, str] | None = None) -> None:
        self.home = home.absolute()
        self.data = self.home / "postgres"
        self.settings = {**SETTINGS, **(settings or {})}
        self._lock: int | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._socket_directory: Path | None = None

    def start(self) -> str:
        """Start the server and give the address to connect to."""
        self.launch()
        return self.await_ready()

    def launch(self) -> None:
        """Start the server, making its data on the first time, and do not wait for it."""
        if threading.current_thread() is not threading.main_thread():
            # The kernel ends the server when the *thread* that started it ends.
            raise RuntimeError("the embedded server must be started from the main thread")
        self._make_home()
        self._take_lock()
        try:
            account = server_account(self.data)
            binaries = find_binaries()
            if account.is_other:
                binaries = make_world_readable(binaries)
            if not self.data.exists():
                self._make_data(binaries, account)
            self._check_version(binaries)
            self._await_predecessor()
            self._start_server(binaries, account)
        except BaseException:
            self.stop()
            raise

    def await_ready(self) -> str:
        """The address to connect to, once the server that was launched takes connections."""
        try:
            self._await_server()
        except BaseException:
            self.stop()
            raise
        return self.dsn

    def _make_home(self) -> None:
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe, name = tempfile.mkstemp(prefix=".write-probe-", dir=self.home)
        except (FileExistsError, NotADirectoryError):
            raise EmbeddedPostgresError(
                f"{self.home} is a file, or lies below one. GRIDLOOM_HOME is to be a directory."
            ) from None
        except OSError as error:
            raise EmbeddedPostgresError(
                f"{self.home} cannot be written to ({error.strerror}). Set GRIDLOOM_HOME to a directory that can."
            ) from None
        os.close(probe)
        Path(name).unlink()

    def rotate_log(self) -> None:
        """Keep what the server says in bounds while it runs: it only ever appends, so its file can be emptied."""
        log = self.home / "postgres.log"
        with suppress(OSError):
            if log.stat().st_size <= MAX_LOG_BYTES:
                return
            try:
                shutil.copyfile(log, log.with_suffix(".log.1"))
            finally:  # also where there is no room for a copy
                os.truncate(log, 0)

    def revive(self) -> None:
        """Start a server that has died at the address that its clients know; a failure keeps the home ours."""
        account = server_account(self.data)
        binaries = find_binaries()
        self._await_predecessor()
        self._start_server(make_world_readable(binaries) if account.is_other else binaries, account)
        self._await_server()

    @property
    def dsn(self) -> str:
        assert self._socket_directory is not None, "not started"
        return _name_dsn(self._socket_directory)

    @property
    def pid(self) -> int | None:
        return None if self._server is None else self._server.pid

    def is_running(self) -> bool:
        return self._server is not None and self._server.poll() is None

    def stop(self) -> None:
        """End the server: clients are cut, what is committed is on disk; then free the home. May be called twice."""
        if self._server is not None:
            for sign, patience_s in ((signal.SIGINT, 30), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)):
                if self._server.poll() is not None:
                    break
                self._server.send_signal(sign)
                try:
                    self._server.wait(patience_s)
                except subprocess.TimeoutExpired:
                    continue
            self._server = None
        if self._socket_directory is not None:
            shutil.rmtree(self._socket_directory, ignore_errors=True)
            self._socket_directory = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        """Hold the home's lock until we stop or die; the lock's file says who we are."""
        if self._lock is not None:
            return
        lock = os.open(self.home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        deadline = time.monotonic() + 10
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                text = os.pread(lock, 32, 0).strip()
                holder = int(text) if text.isdigit() else None
                # A killed holder's children go within moments, and with them the lock.
                if holder is None or is_alive(holder) or time.monotonic() > deadline:
                    os.close(lock)
                    raise DataDirectoryLockedError(self.home, holder) from None
                time.sleep(0.05)
        os.truncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock

    def _make_data(self, binaries: Binaries, account: OsUser) -> None:
        """Make the data under another name and rename it when it is whole, so that a crash leaves no half."""
        new = self.home / "postgres.new"
        if new.exists():
            shutil.rmtree(new)
        new.mkdir(mode=0o700)
        os.chown(new, account.uid, account.gid)
        options = ["--username", NAME, "--encoding=UTF8", "--locale=C", "--data-checksums", "--auth=peer"]
        if binaries.major >= 17:  # whole Unicode in upper() and lower(), byte order in sorting
            options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if self.settings["fsync"] == "off":  # a scratch server, of which nothing has to outlive a crash
            options.append("--no-sync")
        with TraversablePath(new, account) as path:
            run_command([binaries / "initdb", "-D", path.name, *options], account, path)
            single = [binaries / "postgres", "--single", "-D", path.name, "-c", "log_min_messages=fatal", "postgres"]
            run_command(single, account, path, f"create database {NAME}\n")
        new.rename(self.data)

    def _check_version(self, binaries: Binaries) -> None:
        try:
            made_by = int((self.data / "PG_VERSION").read_text())
        except (OSError, ValueError) as error:
            raise EmbeddedPostgresError(
                f"{self.data} is no data directory of PostgreSQL, or cannot be read ({type(error).__name__}). If its "
                "disk is not mounted, mount it; if nothing of value was in it, remove the directory."
            ) from None
        if made_by != binaries.major:
            raise EmbeddedPostgresError(
                f"The data in {self.data} was made by PostgreSQL {made_by}, the programs found are PostgreSQL "
                f"{binaries.major}. Move it over with a backup; docs/operations.md shows how."
            )

    def _await_predecessor(self) -> None:
        """Wait for the processes of a server whose owner was killed. Never signals a process."""
        deadline = time.monotonic() + 60
        while find_processes_by_cluster_name(self._find_mark()):
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(f"The PostgreSQL of an earlier start still runs on {self.data}.")
            time.sleep(0.05)
        if sys.platform == "linux":
            # No process of this cluster is left, so its pid file is stale, even if another process has the number.
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _find_mark(self) -> str:
        """The text that the command lines of this cluster's processes have, and no others."""
        made = self.data.stat()
        return f"{NAME}-{made.st_dev:x}-{made.st_ino:x}"

    def _start_server(self, binaries: Binaries, account: OsUser) -> None:
        sockets = self._socket_directory = self._make_socket_directory(account)
        self._write_configuration(account)
        log = self.home / "postgres.log"
        self.rotate_log()
        with (
            log.open("ab") as out,
            TraversablePath(self.data, account) as data,
            TraversablePath(sockets, account) as socket,
        ):
            command = [
                binaries / "postgres",
                "-D",
                data.name,
                "-k",
                socket.name,
                "-c",
                f"cluster_name={self._find_mark()}",
            ]
            self._server = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd="/",
                env=ENVIRONMENT,
                start_new_session=True,  # Ctrl-C is ours to handle: requests finish before the database goes
                pass_fds=(*data.descriptors, *socket.descriptors),
                preexec_fn=partial(end_with_parent, os.getpid(), signal.SIGINT),
                user=account.uid if account.is_other else None,
                group=account.gid if account.is_other else None,
                extra_groups=[] if account.is_other else None,
            )

    def _await_server(self) -> None:
        assert self._server is not None, "not launched"
        while self._server.poll() is None:
            try:
                state = (self.data / "postmaster.pid").read_text().splitlines()
            except FileNotFoundError:
                state = []
            if len(state) >= 8 and int(state[0]) == self._server.pid and state[7].strip() in ("ready", "standby"):
                return
            time.sleep(0.01)
        log = self.home / "postgres.log"
        last_words = b"\n".join(log.read_bytes()[-2000:].splitlines()[-5:]).decode(errors="replace")
        raise EmbeddedPostgresError(f"PostgreSQL did not start; {log} ends with:\n{last_words}")

    def _make_socket_directory(self, account: OsUser) -> Path:
        """`home/run`; a directory among the temporary ones when that path is too long for a socket."""
        if self._socket_directory is not None:  # a restart: clients know the address
            for leftover in self._socket_directory.iterdir():
                leftover.unlink()
            return self._socket_directory
        directory = self.home / "run"
        if directory.is_symlink():  # left by a start that was killed: it points to the temporary directory
            leftover = directory.readlink()
            directory.unlink()
            if leftover.name.startswith(f"{NAME}-") and leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
        if directory.exists():  # likewise: its lock file may name a process that is no more, or is another program's
            shutil.rmtree(directory)
        if PLAIN_SOCKET_PATH.fullmatch(str(directory)):
            directory.mkdir(mode=0o700)
        else:
            link, directory = directory, Path(tempfile.mkdtemp(prefix=f"{NAME}-", dir="/tmp"))
            link.symlink_to(directory)
        os.chown(directory, account.uid, account.gid)
        return directory

    def _write_configuration(self, account: OsUser) -> None:
        """Ours at every start; what an owner sets with ALTER SYSTEM is kept elsewhere and wins."""
        quoted = {name: value.replace("'", "''") for name, value in self.settings.items()}
        login = pwd.getpwuid(os.geteuid()).pw_name
        # A standby on this machine runs as the server does. It may follow, which tells it nothing that it could not
        # read in the files; it may ask nothing.
        followers = dict.fromkeys((login, pwd.getpwuid(account.uid).pw_name))
        files = {
            "postgresql.conf": "".join(f"{name} = '{value}'\n" for name, value in quoted.items()),
            "pg_hba.conf": "local all all peer map=owner\nlocal replication all peer map=follower\n",
            "pg_ident.conf": "".join(f'owner "{login}" {role}\n' for role in (NAME, SERVICE_ROLE))
            + "".join(f'follower "{name}" {NAME}\n' for name in followers),
        }
        for name, text in files.items():
            path = self.data / name
            path.unlink(missing_ok=True)  # the directory is the server's: follow no link that it may have put there
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
                os.fchown(file.fileno(), account.uid, account.gid)


def dsn_of_running(home: Path) -> str:
    """The address of the server that another process runs on this home."""
    return _name_dsn((home / "run").resolve())


def _name_dsn(socket_directory: Path) -> str:
    """Everything is named: what the address leaves open, drivers read from PGPORT, PGUSER and their like."""
    host = quote(str(socket_directory), safe="/")
    return f"postgresql:///{NAME}?host={host}&port={SETTINGS['port']}&user={NAME}"
