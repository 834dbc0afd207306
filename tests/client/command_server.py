"""Forks itself for each command, all imported before: `python -m tests.client.command_server SOCKET`.

Each command is a process of its own with its own environment, as a user's is; what is saved is importing everything for
each. That a command imports no more than it needs, other tests see in processes of their own.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import traceback
from typing import Any

from gridloom.entry import main as run_command
from gridloom_client.client import trust_certificates
from gridloom_client.commands import make_app

STREAMS = ("stdin", "stdout", "stderr")


def serve(path: str) -> None:
    """Until it is killed: a connection is a command, whose exit code is the answer."""
    make_app()
    trust_certificates(True)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended commands are nobody's to wait for
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    listening.close()
                    connection.sendall(str(_run_asked(connection)).encode())
                    connection.close()
                    os._exit(0)


def _run_asked(connection: socket.socket) -> int:
    asked, streams = _receive(connection)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()  # no terminal to ask on, wherever the tests run
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked.get("directory", "."))
    _open_streams(streams or [_open_file(asked, name) for name in STREAMS])
    sys.argv = ["gridloom", *asked["arguments"]]
    try:
        run_command(leave=sys.exit)
        code = 0
    except SystemExit as ended:
        code = _find_code(ended.code)
    except BaseException:  # noqa: BLE001  # as the interpreter would end
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """What is asked for, and the streams of who asks, unless these are files that are named."""
    content, streams, _, _ = socket.recv_fds(connection, 1 << 16, len(STREAMS))
    while not content.endswith(b"\n"):
        more = connection.recv(1 << 16)
        assert more, "half a command"
        content += more
    return json.loads(content), streams


def _open_file(asked: dict[str, Any], name: str) -> int:
    return os.open(asked[name], os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _open_streams(streams: list[int]) -> None:
    for number, (name, stream) in enumerate(zip(STREAMS, streams, strict=True)):
        os.dup2(stream, number)
        os.close(stream)
        setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _find_code(code: Any) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    sys.stderr.write(f"{code}\n")
    return 1


if __name__ == "__main__":
    serve(sys.argv[1])
