"""`gridloom call`: any request, with your token."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.options import USUAL, Options, connect
from gridloom_client.wire import JSON


def call(
    method: str,
    path: str,
    *,
    data: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    content_type: str = JSON,
    accept: str = JSON,
    if_match: str | None = None,
    options: Options = USUAL,
) -> None:
    """Send any request with your token and print its answer.

    For example:

        gridloom call GET /auctions
        gridloom call POST /organisations --data '{"name": "Nordlicht", "kind": "PARTICIPANT"}'
        gridloom call POST /monitoring/datapoints --data @points.csv --content-type text/csv

    Parameters
    ----------
    method
        GET, POST, PUT, PATCH or DELETE.
    path
        Such as /auctions, with its query.
    content_type
        What the body is.
    if_match
        The ETag that the change is made under.
    data
        The body: JSON, @FILE for a file's content, or - for standard input.
    accept
        The media type to ask for, such as text/csv.
    """
    headers = {"Accept": accept}
    if if_match is not None:
        headers["If-Match"] = if_match
    content = _read_content(data, content_type)
    if content is not None:
        headers["Content-Type"] = content_type
    with connect(options) as client:
        reply = client.call(method, path, content, headers=headers)
    media_type = reply.headers.get("content-type", "").partition(";")[0]
    if not reply.content:
        return
    if media_type == JSON and sys.stdout.isatty() and options.form != "json":
        from rich.console import Console

        Console().print_json(reply.content.decode())
        return
    sys.stdout.buffer.write(reply.content + (b"\n" if media_type == JSON else b""))
    sys.stdout.buffer.flush()


def _read_content(data: str | None, content_type: str) -> bytes | None:
    if data is None:
        return None
    if data == "-":
        content = sys.stdin.buffer.read()
    elif data.startswith("@"):
        try:
            content = Path(data[1:]).read_bytes()
        except OSError as error:
            raise Misunderstood(f"{data[1:]} cannot be read: {error.strerror}.") from None
    else:
        content = data.encode()
    if content_type == JSON:
        try:
            msgspec.json.decode(content)
        except msgspec.DecodeError as fault:
            raise Misunderstood(f"The data is not JSON: {fault}.") from None
    return content
