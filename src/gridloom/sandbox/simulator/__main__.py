"""The simulator as a process of its own: `python -m gridloom.sandbox.simulator URL HOME`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import structlog

from gridloom.sandbox.simulator.api_session import connect_to
from gridloom.sandbox.simulator.credentials import SHUT_OUT_STATUS, read_credentials, say_shut_out
from gridloom.sandbox.simulator.main_loop import LoginRejectedError, run_forever

log = structlog.get_logger()


def main(url: str, home: str) -> None:
    level = logging.getLevelNamesMapping()[(os.environ.get("GRIDLOOM_LOG_LEVEL") or "info").upper()]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the supervisor, which ends this process
    credentials = read_credentials(Path(home))
    if credentials is None:
        log.error("simulator.no_credentials", home=home)
        raise SystemExit(1)
    try:
        asyncio.run(run_forever(connect_to(url), credentials))
    except LoginRejectedError:
        log.error("simulator.login_rejected", detail=say_shut_out(Path(home)))
        raise SystemExit(SHUT_OUT_STATUS) from None


if __name__ == "__main__":
    main(*sys.argv[1:3])
