"""A proxy before a Citus coordinator that counts the commands which it sends to its workers.

Citus reports each one as a notice (`citus.log_remote_commands`); the service ignores notices, so they are read on their
way. No right of a superuser is needed for that.
"""

from __future__ import annotations

import asyncio
import re
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_ISSUING: Final = b"Missuing "
_SHARD: Final = re.compile(r"_(\d{6,})\b")


@dataclass
class Counted:
    """Commands to workers, and statements of the service, since the last look."""

    commands: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)

    @property
    def shards(self) -> set[str]:
        return {shard for command in self.commands for shard in _SHARD.findall(command)}

    @property
    def prepared(self) -> int:
        return sum(command.startswith("PREPARE TRANSACTION") for command in self.commands)


class Proxy:
    """Listens on a port of its own, in a thread of its own."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._counted = Counted()
        self._loop = asyncio.new_event_loop()
        self._port = 0
        self._is_listening = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._is_listening.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    @property
    def url(self) -> str:
        credentials, at, _ = self._url.netloc.rpartition("@")
        query = "&".join(part for part in (self._url.query, "sslmode=disable&citus.log_remote_commands=on") if part)
        return urlunsplit(self._url._replace(netloc=f"{credentials}{at}127.0.0.1:{self._port}", query=query))

    def take(self) -> Counted:
        taken, self._counted = self._counted, Counted()
        return taken

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self._port = server.sockets[0].getsockname()[1]
        self._is_listening.set()
        self._loop.run_forever()

    async def _serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        reader, writer = await asyncio.open_connection(self._url.hostname, self._url.port or 5432)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await asyncio.gather(self._forward_client(client, writer), self._forward_server(reader, answer))
        writer.close()
        answer.close()

    async def _forward_client(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        head = await source.readexactly(4)  # the first message of a client has no type
        sink.write(head + await source.readexactly(struct.unpack(">i", head)[0] - 4))
        prepared: dict[bytes, str] = {}
        while True:
            kind, body = await _pass_on(source, sink)
            if kind == b"P":  # a name and the text that it stands for
                name, text, *_ = body.split(b"\0")
                prepared[name] = " ".join(text.decode(errors="replace").split())
            elif kind == b"B":  # a portal, and the name of what it runs
                self._counted.statements.append(prepared.get(body.split(b"\0")[1], ""))
            elif kind == b"Q":
                self._counted.statements.append(body.rstrip(b"\0").decode(errors="replace"))

    async def _forward_server(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while True:
            kind, body = await _pass_on(source, sink)
            if kind == b"N":
                self._note(body)

    def _note(self, notice: bytes) -> None:
        """A notice is made of fields that end with a zero; M is its message."""
        for part in notice.split(b"\0"):
            if part.startswith(_ISSUING):
                self._counted.commands.append(part.removeprefix(_ISSUING).decode(errors="replace").strip())


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> tuple[bytes, bytes]:
    """The type and the content of the next message, which goes on as it is."""
    head = await source.readexactly(5)
    body = await source.readexactly(struct.unpack(">i", head[1:])[0] - 4)
    sink.write(head + body)
    return head[:1], body
