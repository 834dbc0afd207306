"""A replica whose process believes in another time: run with a database's address and a skew in seconds."""

from __future__ import annotations

import datetime as datetime_module
import socket
import sys
import time

import uvicorn
from tests.conftest import find_standby

from gridloom.app import create_edge
from gridloom.settings import Settings

SKEW_S = float(sys.argv[2])
_real_time = time.time


class SkewedDatetime(datetime_module.datetime):
    @classmethod
    def now(cls, tz: datetime_module.tzinfo | None = None) -> SkewedDatetime:
        return cls.fromtimestamp(_real_time() + SKEW_S, tz)


def skew_every_clock() -> None:
    """Whatever reads the time in our code, and in what verifies tokens, reads the wrong one."""
    time.time = lambda: _real_time() + SKEW_S
    for name, module in list(sys.modules.items()):
        if name.startswith(("gridloom", "jwt")) and getattr(module, "datetime", None) is datetime_module.datetime:
            module.datetime = SkewedDatetime  # type: ignore[attr-defined]


class SkewedServer(uvicorn.Server):
    """Its clocks go wrong once it is up: types are looked at before, by their names."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        skew_every_clock()
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    url = sys.argv[1]
    edge = create_edge(Settings(environment="sandbox", database_url=url, read_database_urls=find_standby(url)))
    SkewedServer(uvicorn.Config(edge, log_level="warning")).run(sockets=[listening])


main()
