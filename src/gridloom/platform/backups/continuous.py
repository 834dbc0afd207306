"""Backups without an end: a copy of the embedded server's files and every change since, restored to any instant.

`gridloom backup DIR --continuous` copies the files of a running server into DIR/base-<time> and then writes down its
write-ahead log into DIR/wal for as long as it runs. `gridloom restore DIR --at TIME` fills a new home from both.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial as partial_call
from pathlib import Path
from types import FrameType
from typing import Final

import asyncpg

from gridloom.platform.backups.contents_store import is_slot_active
from gridloom.platform.database.libpq import client_environment
from gridloom.platform.database.server.binaries import find_binaries
from gridloom.platform.database.server.embedded import EmbeddedPostgres, dsn_of_running
from gridloom.platform.database.server.processes import EmbeddedPostgresError, end_with_parent, server_account
from gridloom.platform.database.service_database import CommandError, connect_database

SLOT: Final = "gridloom_backup"
_STAMP: Final = "base-%Y%m%dT%H%M%SZ"
_RECOVERY_SETTINGS: Final = ("restore_command", "recovery_target_time", "recovery_target_action")


def back_up_continuously(home: Path, directory: Path, *, began: datetime) -> subprocess.Popen[bytes]:
    """Copy the files of the server that runs on this home; the process that writes its log down from here on."""
    dsn = dsn_of_running(home)
    if asyncio.run(_is_receiving(dsn)):
        raise CommandError(
            "Another continuous backup receives from this server. Stop it first, or let it go on: one is enough."
        )
    environment = client_environment(dsn)
    previous = os.umask(0o077)
    try:
        (directory / "wal").mkdir(parents=True, exist_ok=True)
        binaries = find_binaries()
        receive = [binaries / "pg_receivewal", "-D", str(directory / "wal"), "--slot", SLOT, "--no-password"]
        _run_command([*receive, "--create-slot", "--if-not-exists"], environment)
        # Ends with this process, however that ends: a slot that is still read from keeps the next backup out.
        end = partial_call(end_with_parent, os.getpid(), signal.SIGINT)
        receiving = subprocess.Popen([*receive, "--synchronous"], env=environment, preexec_fn=end)  # noqa: S603
        try:
            base = directory / began.strftime(_STAMP)
            partial = base.with_name(f".{base.name}.partial")
            copy = [binaries / "pg_basebackup", "-D", str(partial), "--checkpoint=fast", "--wal-method=stream"]
            _run_command([*copy, "--no-password"], environment)
            partial.rename(base)
        except BaseException:
            receiving.send_signal(signal.SIGINT)
            receiving.wait(10)
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return receiving
    finally:
        os.umask(previous)


async def _is_receiving(dsn: str) -> bool:
    async with connect_database(dsn) as connection:
        return await is_slot_active(connection, SLOT)


def receive_until_signalled(receiving: subprocess.Popen[bytes]) -> int:
    """Wait for `pg_receivewal`; SIGINT and SIGTERM end it, and it has flushed what it received when this returns."""
    asked_to_end = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal asked_to_end
        asked_to_end = True
        receiving.send_signal(signal.SIGINT)

    previous = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        status = receiving.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0 if asked_to_end else status


def restore_to(home: Path, directory: Path, instant: datetime) -> None:
    """Fill a new home with what the database held at that instant: everything committed up to it, and nothing after."""
    server = EmbeddedPostgres(home)
    if server.data.exists():
        raise CommandError(f"{server.data} exists. Restore into a new home: set GRIDLOOM_HOME to a new directory.")
    base = base_before(directory, instant)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = server.data.with_name("postgres.new")
    if new.exists():
        shutil.rmtree(new)
    shutil.copytree(base, new)
    shutil.copytree(directory / "wal", new / "restored_wal")
    # The log's last file is still being written where the backup goes on.
    (new / "postgresql.auto.conf").write_text(
        'restore_command = \'cp restored_wal/%f "%p" || cp restored_wal/%f.partial "%p"\'\n'
        f"recovery_target_time = '{instant.astimezone(UTC).isoformat()}'\n"
        "recovery_target_action = 'promote'\n"
    )
    (new / "recovery.signal").touch()
    account = server_account(server.data)
    for path in (new, *new.rglob("*")):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    new.chmod(0o700)
    new.rename(server.data)
    try:
        _recover_server(server)
    except EmbeddedPostgresError as error:
        shutil.rmtree(server.data)
        raise CommandError(
            f"The backup in {directory} does not reach {instant.astimezone(UTC).isoformat()}, or is damaged. {error}"
        ) from None


def _recover_server(server: EmbeddedPostgres) -> None:
    """Start the server, which replays the log up to the instant, and take the recovery's settings away."""
    dsn = server.start()
    try:
        asyncio.run(_await_promotion(dsn))
    finally:
        server.stop()
    shutil.rmtree(server.data / "restored_wal")


async def _await_promotion(dsn: str) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            connection = await asyncpg.connect(dsn, timeout=10)
            try:
                if not await connection.fetchval("select pg_is_in_recovery()"):
                    for name in _RECOVERY_SETTINGS:
                        await connection.execute(f"alter system reset {name}")
                    return
            finally:
                await connection.close()
        await asyncio.sleep(0.1)
    raise EmbeddedPostgresError("The log was not replayed within ten minutes.")


def base_before(directory: Path, instant: datetime) -> Path:
    known = []
    for path in directory.glob("base-*"):
        with suppress(ValueError):
            known.append((datetime.strptime(path.name, _STAMP).replace(tzinfo=UTC), path))
    earlier = [(made, path) for made, path in known if made <= instant]
    if not earlier:
        raise CommandError(f"{directory} holds no copy that was begun before {instant.isoformat()}.")
    return max(earlier)[1]


def _run_command(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise CommandError(f"{Path(command[0]).name} failed: {done.stderr.strip()}")
