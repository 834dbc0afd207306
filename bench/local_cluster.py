"""`python -m bench.local_cluster`: a primary, a standby of it and two services, on this machine and without containers.

The standby is synchronous: what is acknowledged is on both. Both services know both servers and write to whichever
takes writes; both read from the standby. Kill the primary and promote the standby, as is printed, and look on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

import asyncpg

from bench.harness import PASSWORD, USERNAME, await_answer, free_port, process
from gridloom.database.embedded import EmbeddedPostgres
from gridloom.database.standby import StandbyPostgres


@dataclass
class Cluster:
    primary: EmbeddedPostgres
    standby: StandbyPostgres
    home: Path
    stack: ExitStack

    @property
    def url(self) -> str:
        """Both servers; whichever takes writes is meant."""
        hosts = [server.dsn.partition("host=")[2].partition("&")[0] for server in (self.primary, self.standby)]
        return f"postgresql:///gridloom?host={','.join(hosts)}&user=gridloom&target_session_attrs=read-write"

    def start_service(self, number: int, *, reads_from_standby: bool, workers: int = 1) -> tuple[str, Popen[bytes]]:
        """One more service on the same database: its address and its process."""
        port = free_port()
        environment = {
            "GRIDLOOM_DATABASE_URL": self.url,
            "GRIDLOOM_READ_DATABASE_URL": self.standby.dsn if reads_from_standby else "",
            "GRIDLOOM_HOME": str(self.home / f"service-{number}"),
            "GRIDLOOM_PORT": str(port),
            "GRIDLOOM_WORKERS": str(workers),
            "GRIDLOOM_BOOTSTRAP_USERNAME": USERNAME,
            "GRIDLOOM_BOOTSTRAP_PASSWORD": PASSWORD,
            "GRIDLOOM_SIMULATOR": "off",
            "GRIDLOOM_LOG_LEVEL": "warning",
            "GRIDLOOM_RATE_LIMIT": "1000000000",
            "GRIDLOOM_PUBLIC_RATE_LIMIT": "1000000000",
        }
        service = self.stack.enter_context(process([sys.executable, "-m", "gridloom.cli", "serve"], environment))
        address = f"http://127.0.0.1:{port}"
        await_answer(address, "/health/ready", service)
        return address, service


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A primary and a synchronous standby; services are started on it."""
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
        standby = StandbyPostgres(home / "standby", dsn, "standby")
        stack.callback(standby.stop)
        standby.start()
        asyncio.run(_make_synchronous(dsn))
        yield Cluster(primary, standby, home, stack)


async def _make_synchronous(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("alter system set synchronous_standby_names = 'standby'")
        await connection.execute("select pg_reload_conf()")
    finally:
        await connection.close()


def main() -> int:
    with cluster() as made:
        addresses = [made.start_service(number, reads_from_standby=True)[0] for number in (1, 2)]
        print(f"services   {' and '.join(addresses)}")
        print(f"sign in    {USERNAME} / {PASSWORD}")
        print(f"primary    process {made.primary.pid}: kill -9 {made.primary.pid} takes it away")
        print(f"standby    process {made.standby.pid}: kill -USR1 {os.getpid()} promotes it")
        signal.signal(signal.SIGUSR1, lambda *_: made.standby.promote())
        print("Ctrl-C ends everything and removes the data.", flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
