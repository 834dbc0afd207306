"""`python -m bench.local_cluster`: a primary, a standby of it and two services, on this machine and without containers.

The standby is synchronous: what is acknowledged is on both. Both services know both servers, write to whichever takes
writes and read from whichever stands by. Kill the primary, promote the standby, have the killed one follow: as printed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

import asyncpg

from bench.harness import PASSWORD, USERNAME, await_answer, free_port, process
from bench.standby import StandbyPostgres
from gridloom.platform.database.server.embedded import EmbeddedPostgres


@dataclass
class Cluster:
    primary: EmbeddedPostgres
    standby: StandbyPostgres  # until it is promoted
    home: Path
    stack: ExitStack

    def name_servers(self, role: str) -> str:
        """An address of both; the one that is in this role is meant (`read-write` or `standby`)."""
        hosts = [server.dsn.partition("host=")[2].partition("&")[0] for server in (self.primary, self.standby)]
        return f"postgresql:///gridloom?host={','.join(hosts)}&user=gridloom&target_session_attrs={role}"

    def start_service(
        self, number: int, *, reads_from_standby: bool, more: Mapping[str, str] | None = None, log: Path | None = None
    ) -> tuple[str, Popen[bytes]]:
        """One more service on the same database: its address and its process; `more` are settings of it."""
        port = (more or {}).get("GRIDLOOM_PORT") or str(free_port())
        environment = {
            "GRIDLOOM_DATABASE_URL": self.name_servers("read-write"),
            "GRIDLOOM_READ_DATABASE_URL": self.name_servers("standby") if reads_from_standby else "",
            "GRIDLOOM_HOME": str(self.home / f"service-{number}"),
            "GRIDLOOM_PORT": port,
            "GRIDLOOM_WORKERS": "1",
            "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
            "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
            "GRIDLOOM_SIMULATOR": "off",
            "GRIDLOOM_LOG_LEVEL": "warning",
            "GRIDLOOM_RATE_LIMIT": "1000000000",
            "GRIDLOOM_PUBLIC_RATE_LIMIT": "1000000000",
            **(more or {}),
        }
        command = [sys.executable, "-m", "gridloom.commands.cli", "serve"]
        service = self.stack.enter_context(process(command, environment, log))
        address = f"http://127.0.0.1:{port}"
        await_answer(address, "/health/ready", service)
        return address, service

    def follow_promoted(self) -> None:
        """The server that was the primary is made anew, as a copy of the one that took over, and follows it."""
        home = self.primary.home
        self.primary.stop()
        shutil.rmtree(home / "postgres", ignore_errors=True)
        (home / "postgres.log").unlink(missing_ok=True)
        follower = StandbyPostgres(home, self.standby.dsn, "standby")
        self.stack.callback(follower.stop)
        follower.start()
        home.chmod(0o711)
        asyncio.run(make_synchronous(self.standby.dsn))
        self.primary, self.standby = self.standby, follower


@contextmanager
def cluster(lag: str = "0") -> Iterator[Cluster]:
    """A primary and a synchronous standby, which may hold back what it receives; services are started on it."""
    with ExitStack() as stack:
        directory = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="gl-cluster-", dir="/tmp", ignore_cleanup_errors=True)
        )
        home = Path(directory)
        home.chmod(0o711)  # the account that PostgreSQL runs as passes through
        primary = EmbeddedPostgres(home / "primary")
        stack.callback(primary.stop)
        dsn = primary.start()
        (home / "primary").chmod(0o711)
        standby = StandbyPostgres(home / "standby", dsn, "standby", {"recovery_min_apply_delay": lag})
        stack.callback(standby.stop)
        standby.start()
        (home / "standby").chmod(0o711)
        asyncio.run(make_synchronous(dsn))
        yield Cluster(primary, standby, home, stack)


async def make_synchronous(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("alter system set synchronous_standby_names = 'standby'")
        await connection.execute("select pg_reload_conf()")
    finally:
        await connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.local_cluster", description="A cluster on this machine.")
    parser.add_argument("--port", type=int, default=8001, help="of the first service; the second has the next")
    first = parser.parse_args().port
    print("Starting a primary and a standby of it …", flush=True)
    with cluster() as made:
        for number in (1, 2):
            print(f"Starting service {number} …", flush=True)
            port = {"GRIDLOOM_PORT": str(first + number - 1)}
            made.start_service(number, reads_from_standby=True, more=port, log=made.home / f"service-{number}.log")
        signal.signal(signal.SIGUSR1, lambda *_: _switch(made))
        print(f"services   http://127.0.0.1:{first} and http://127.0.0.1:{first + 1}, logs in {made.home}")
        print(f"sign in    {USERNAME} / {PASSWORD}")
        _tell_servers(made)
        print("Ctrl-C ends everything and removes the data.", flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                signal.pause()
    return 0


def _switch(made: Cluster) -> None:
    """The work of a cluster manager: promote, and have the other one follow."""
    made.standby.promote()
    print(f"promoted   process {made.standby.pid}; the other one is copied from it and follows …", flush=True)
    made.follow_promoted()
    _tell_servers(made)


def _tell_servers(made: Cluster) -> None:
    print(f"primary    process {made.primary.pid}: kill -9 {made.primary.pid} takes it away")
    print(f"standby    process {made.standby.pid}: kill -USR1 {os.getpid()} promotes it", flush=True)


if __name__ == "__main__":
    sys.exit(main())
