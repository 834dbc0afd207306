"""The service on a real port, and the commands run as a person runs them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.client.played import Run

    from gridloom.platform.http.application import Application

ROOT = Path(__file__).parents[2]
SHIM = """#!{python} -IS
import json, os, socket, sys
asked = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "directory": os.getcwd()}}
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    socket.send_fds(server, [b" "], [0, 1, 2])
    server.sendall(json.dumps(asked).encode() + b"\\n")
    code = server.recv(16)
sys.exit(int(code or 1))
"""


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


@pytest.fixture(scope="session")
async def command_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    """The socket of a process that runs commands, each in a fork of itself."""
    socket = tmp_path_factory.mktemp("commands") / "socket"
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.client.command_server", str(socket)),
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None
    await server.stdout.readline()
    yield socket
    server.kill()
    await server.wait()


@dataclass(frozen=True)
class Terminal:
    """Runs `gridloom` with a configuration directory of its own and nothing else in its environment."""

    home: Path
    address: str
    server: Path

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

    def write_program(self, directory: Path) -> None:
        """A program `gridloom` for scripts of a shell, which has the server run each command as a fork of itself."""
        directory.mkdir()
        program = directory / "gridloom"
        program.write_text(SHIM.format(python=sys.executable, path=str(self.server)))
        program.chmod(0o755)

    async def __call__(self, *arguments: str, typed: str = "", **environment: str) -> Ended:
        streams = Path(tempfile.mkdtemp())
        files = {name: streams / name for name in ("stdin", "stdout", "stderr")}
        files["stdin"].write_text(typed)
        asked = {
            "arguments": arguments,
            "environment": {**self.environment, **environment},
            **{name: str(file) for name, file in files.items()},
        }
        reader, writer = await asyncio.open_unix_connection(self.server)
        writer.write(json.dumps(asked).encode() + b"\n")
        code = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        return Ended(int(code), files["stdout"].read_text(), files["stderr"].read_text())


@pytest.fixture
def terminal(tmp_path: Path, address: str, command_server: Path) -> Terminal:
    return Terminal(tmp_path, address, command_server)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """A command line in this process, which asks a service that is played."""
    from tests.client.played import play_commands

    return play_commands(monkeypatch, capsys, tmp_path)
