"""The service on a real port, and the commands run as a person runs them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gridloom.edge.application import Application


@pytest.fixture(scope="session")
async def address(app: Application) -> AsyncIterator[str]:
    """Where the service under test answers over HTTP."""
    import uvicorn

    config = uvicorn.Config(app, port=0, lifespan="off", log_level="warning")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = server.force_exit = True
    await serving


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Terminal:
    """Runs `gridloom` with a configuration directory of its own and nothing else in its environment."""

    home: Path
    address: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home),
            "GRIDLOOM_URL": self.address,
            "PYTHONUTF8": "1",
            **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
        }

    async def __call__(self, *arguments: str, typed: str = "", **environment: str) -> Ended:
        process = await asyncio.create_subprocess_exec(
            "gridloom",
            *arguments,
            env={**self.environment, **environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # no terminal to ask on, wherever the tests run
        )
        out, err = await asyncio.wait_for(process.communicate(typed.encode()), 60)
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())


@pytest.fixture
def terminal(tmp_path: Path, address: str) -> Terminal:
    return Terminal(tmp_path, address)
