"""A port of this machine to which a browser brings a one-time code."""

from __future__ import annotations

import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

PATIENCE_S: Final = 300.0


class WaitingForCode:
    """Listens on 127.0.0.1 alone, at a random path, until the code is there."""

    def __init__(self) -> None:
        self._path = f"/{secrets.token_urlsafe(16)}"
        self._code: str | None = None
        self._has_come = threading.Event()
        waiting = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                code = parse_qs(parts.query).get("code", [""])[0]
                is_ours = secrets.compare_digest(parts.path, waiting._path) and bool(code)
                self.send_response(200 if is_ours else 404)
                self.send_header("Content-Type", "text/plain; charset=utf-8")
                self.end_headers()
                self.wfile.write(b"You are signed in. Close this page.\n" if is_ours else b"Nothing here.\n")
                if is_ours:
                    waiting._code = code
                    waiting._has_come.set()

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: the code is in the address."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{self._path}"

    def wait(self, patience_s: float = PATIENCE_S) -> str | None:
        self._has_come.wait(patience_s)
        return self._code

    def __enter__(self) -> WaitingForCode:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
