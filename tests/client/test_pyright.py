"""Editors' view of the SDK, by the type checker that most of them have: scripts of the docs, and hover texts.

Slow: pyright reads some four hundred files for each.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.platform.identity.openid_provider import find_bun

ROOT = Path(__file__).parents[2]
PYRIGHT = ROOT / "web" / "node_modules" / "pyright"
pytestmark = pytest.mark.slow
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GIVEN = {
    "lake": "lake, day = input(), input()\n",
    "sheets": "from datetime import UTC, datetime\nasset_id, start, end = input(), *[datetime.now(UTC)] * 2\n",
}
"""Names that the reader of a page has already."""
SCRIPT = """\
from gridloom_client import Client

client = Client()
bid = client.auctions.bid("1", price="1250.50")
print(bid.price, client.auctions.list())
"""


def command_of(program: str, *arguments: str) -> list[str]:
    if not PYRIGHT.is_dir():
        sentence = "pyright is not installed (make console)."
        if os.environ.get("GRIDLOOM_NEVER_SKIP"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    return [find_bun(), "--bun", str(PYRIGHT / program), *arguments]


def docs_scripts() -> Iterator[tuple[str, str]]:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        blocks = BLOCK.findall(page.read_text())
        if blocks:
            yield page.stem.replace("-", "_"), "\n".join(blocks)
    for notebook in (ROOT / "docs").rglob("*.ipynb"):
        cells = json.loads(notebook.read_text())["cells"]
        yield notebook.stem, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


class TestScriptsOfTheDocs:
    def test_pass_pyright_in_basic_mode(self, tmp_path: Path) -> None:
        scripts = dict(docs_scripts())
        assert {"python_sdk", "markets", "decisions", "events", "notebook"} <= scripts.keys()
        for name, text in scripts.items():
            (tmp_path / f"page_{name}.py").write_text(GIVEN.get(name, "") + text)
        (tmp_path / "pyrightconfig.json").write_text(
            '{"typeCheckingMode": "basic", "useLibraryCodeForTypes": false}'  # not what pandas is inferred to be
        )
        command = command_of("index.js", "--project", str(tmp_path), "--pythonpath", sys.executable)
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout


class LanguageServer:
    """Pyright as an editor talks to it."""

    def __init__(self, root: Path) -> None:
        command = command_of("langserver.index.js", "--stdio")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._asked = 0
        self._root = root.as_uri()

    def open(self, text: str) -> None:
        capabilities = {
            "workspace": {"configuration": True},
            "textDocument": {"hover": {"contentFormat": ["plaintext"]}},
        }
        folders = [{"uri": self._root, "name": "scripts"}]
        self.ask("initialize", processId=os.getpid(), capabilities=capabilities, workspaceFolders=folders)
        self._send({"method": "initialized", "params": {}})
        document = {"uri": f"{self._root}/script.py", "languageId": "python", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def hover(self, text: str, word: str) -> str:
        before, _, rest = text.partition(word)
        assert rest
        position = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2]) + len(word) - 1}
        document = {"uri": f"{self._root}/script.py"}
        shown = self.ask("textDocument/hover", textDocument=document, position=position)
        return " ".join(shown["contents"]["value"].split())

    def ask(self, method: str, **parameters: Any) -> Any:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": parameters})
        while True:
            message = self._receive()
            if message.get("id") == self._asked and "method" not in message:
                return message["result"]
            if message.get("method") == "workspace/configuration":
                found = [{"pythonPath": sys.executable}] * len(message["params"]["items"])
                self._send({"id": message["id"], "result": found})
            elif "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        stream, length = self._process.stdout, 0
        assert stream is not None
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "pyright has ended"
        message: dict[str, Any] = json.loads(stream.read(length))
        return message

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class TestHovering:
    def test_shows_the_texts_of_the_interface(self, tmp_path: Path) -> None:
        server = LanguageServer(tmp_path)
        try:
            server.open(SCRIPT)
            bid, price, auctions = (
                server.hover(SCRIPT, word) for word in ("auctions.bid", "bid.price", "auctions.list")
            )
        finally:
            server.close()
        assert "Place a bid" in bid
        assert "price: EUR, at most 2 decimals" in bid
        assert "EUR, at most 2 decimals" in price
        assert "List auctions" in auctions
        assert "page_size: How many items are fetched at a time" in auctions
