"""Certificates are read where they are needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gridloom_client import Client


@contextmanager
def redirecting_server(target: str) -> Iterator[str]:
    """Answers one request on a free port with a redirect."""

    class Redirect(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(308)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Redirect) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"


class TestAServiceWithoutTls:
    def test_has_its_authorities_read_when_it_leads_to_another_with_tls(self, monkeypatch: pytest.MonkeyPatch):
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.upper(), raising=False)
        with redirecting_server("https://127.0.0.1:1/") as address:
            client = Client(address, api_key="k", verify="/given.pem")
            with pytest.raises(ValueError, match=r"/given\.pem cannot be used as a CA file"):
                client.auth.me()
