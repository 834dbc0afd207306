"""A standby of an embedded PostgreSQL on the same machine: a copy that follows its log, and can take its place."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from gridloom.platform.database.server.binaries import Binaries, find_binaries, make_world_readable
from gridloom.platform.database.server.embedded import NAME, EmbeddedPostgres
from gridloom.platform.database.server.processes import OsUser, TraversablePath, run_command, server_account


class StandbyPostgres(EmbeddedPostgres):
    """Its data is copied from the primary the first time it starts; then it follows, until it is promoted."""

    def __init__(self, home: Path, primary_dsn: str, name: str, settings: Mapping[str, str] | None = None) -> None:
        self._primary_socket = parse_qs(urlsplit(primary_dsn).query)["host"][0]
        following = {
            "primary_conninfo": f"host={self._primary_socket} user={NAME} application_name={name}",
            "hot_standby_feedback": "on",  # a long report is not broken off by what is cleaned up on the primary
        }
        super().__init__(home, {**following, **(settings or {})})

    def _make_data(self, binaries: Binaries, account: OsUser) -> None:
        new = self.home / "postgres.new"
        if new.exists():
            shutil.rmtree(new)
        new.mkdir(mode=0o700)
        os.chown(new, account.uid, account.gid)
        with TraversablePath(new, account) as path:
            run_command(
                [
                    *(binaries / "pg_basebackup", "-D", path.name, "-h", self._primary_socket, "-U", NAME),
                    *("--wal-method=stream", "--checkpoint=fast", "--no-password"),
                ],
                account,
                path,
            )
        mark = new / "standby.signal"
        mark.touch(mode=0o600)
        os.chown(mark, account.uid, account.gid)
        new.rename(self.data)

    def promote(self) -> None:
        """Promote the standby; returns when it takes writes."""
        account = server_account(self.data)
        binaries = find_binaries()
        with TraversablePath(self.data, account) as data:
            run_command(
                [
                    (make_world_readable(binaries) if account.is_other else binaries) / "pg_ctl",
                    "promote",
                    "-D",
                    data.name,
                ],
                account,
                data,
            )


def crash_server(server: EmbeddedPostgres) -> None:
    """End it as a machine ends that loses its power: nothing is flushed, and no client is notified."""
    assert server.pid is not None, "the server does not run"
    os.kill(server.pid, signal.SIGKILL)
