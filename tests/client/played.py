"""A service that is played, and commands that ask it in this process."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.client.test_conformance import interface, resolved
from tests.stand_ins import replace_for

from gridloom_client import Client
from gridloom_client.commands import make_app
from gridloom_client.commands.terminal import asking, progress

OURS, OTHERS, BATTERY, VIRTUAL, SECOND, THING = (f"01890000-0000-7000-8000-0000000000{n}1" for n in range(1, 7))
ETAG = '"seen-before"'
FORMATS = {"date-time": "2026-11-18T12:00:00Z", "date": "2026-11-18", "uuid": THING}
CHOICES = ("anyOf", "oneOf")


def sample(schema: dict[str, Any], said: Any = None) -> Any:
    """The smallest value that the interface allows: what it demands, with what is said of it."""
    schema = resolved(schema)
    for word in CHOICES:
        if word in schema:
            options = [option for option in schema[word] if option != {"type": "null"}]
            return None if said is None and len(options) < len(schema[word]) else sample(options[0], said)
    match schema.get("type"):
        case "object":
            named = [*schema.get("required", ()), *(said or ())]
            properties, others = schema.get("properties", {}), schema.get("additionalProperties") or {}
            return {name: sample(properties.get(name, others), (said or {}).get(name)) for name in named}
        case "array":
            return [sample(schema["items"], item) for item in said or ()]
    if said is not None or "const" in schema or "enum" in schema:
        return said if said is not None else schema.get("const", schema.get("enum", [None])[0])
    by_type = {"string": FORMATS.get(schema.get("format", ""), "x"), "boolean": True, "null": None}
    return by_type.get(schema.get("type", ""), schema.get("minimum", 1))


class Filler:
    """Values for every field that an answer may have, each number another one, so that what is shown can be traced."""

    def __init__(self) -> None:
        self.count = 0

    def fill(self, schema: dict[str, Any], said: Any = None, name: str = "", depth: int = 0) -> Any:
        schema = resolved(schema)
        told = {"description": schema["description"]} if "description" in schema else {}
        for word in CHOICES:
            if word in schema:
                options = [option for option in schema[word] if option != {"type": "null"}]
                return self.fill({**resolved(options[0]), **told}, said, name, depth)
        match schema.get("type"):
            case "object":
                return self._fill_object(schema, said or {}, depth)
            case "array":
                items = said if said is not None else [None] * (0 if depth > 4 else 2)
                return [self.fill(schema["items"], item, name, depth + 1) for item in items]
        if said is not None or "const" in schema or "enum" in schema:
            return said if said is not None else schema.get("const", schema.get("enum", [None])[0])
        is_ratio = (
            name == "share"
            or schema.get("maximum") == 1
            or re.search(r"0 to 1(?!0)|[Rr]atio|[Ss]hare of", schema.get("description", ""))
        )
        return self._invent(schema, name, is_ratio=bool(is_ratio))

    def _fill_object(self, schema: dict[str, Any], said: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        names = dict.fromkeys([*properties, *said, *(["power"] if not properties and others else [])])
        return {each: self.fill(properties.get(each, others or {}), said.get(each), each, depth + 1) for each in names}

    def _invent(self, schema: dict[str, Any], name: str, *, is_ratio: bool) -> Any:
        self.count += 1
        match schema.get("type"):
            case "integer":
                return max(self.count, schema.get("minimum", 0))
            case "number":
                return round(0.5 + self.count / 1000, 3) if is_ratio else self.count + 0.25
            case "boolean":
                return True
            case "null":
                return None
        if schema.get("format") == "date-time":
            return f"2026-11-18T{self.count // 4 % 24:02}:{self.count % 4 * 15:02}:00Z"
        return {"date": "2026-11-18", "uuid": THING}.get(schema.get("format", ""), name)


def refuse(status: int, name: str, **members: Any) -> Callable[[httpx2.Request], httpx2.Response]:
    """An answer that refuses every request."""
    document = {"type": f"/docs/problems/{name}", "title": "No", "status": status, **members}
    return lambda _: httpx2.Response(status, json=document)


@cache
def operations() -> list[tuple[str, re.Pattern[str], dict[str, Any]]]:
    return [
        (method.upper(), re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), operation)
        for path, described in interface()["paths"].items()
        for method, operation in described.items()
        if method != "parameters"
    ]


@dataclass
class PlayedService:
    """Answers as the interface has it, with what a test says of it, and notes what it was asked."""

    known: Mapping[str, Any] = field(default_factory=dict)
    """By path, after its method where that is not GET: fields of the answer, or of each item of a list; an iterator of
    them, one for each request; or a function that answers the request itself."""
    requests: list[httpx2.Request] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    is_full: bool = False
    """Whether answers have every field that the interface knows, not only those that it demands."""

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        method, path = request.method, request.url.path
        found = next(one for verb, pattern, one in operations() if verb == method and pattern.fullmatch(path))
        said = self.known.get(path if method == "GET" else f"{method} {path}")
        if isinstance(said, Iterator):
            said = next(said)
        if callable(said):
            own: httpx2.Response = said(request)
            return own
        status, answer = next((int(code), one) for code, one in found["responses"].items() if code.startswith("2"))
        content = resolved(answer).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema is None:
            return httpx2.Response(status, content=b"a document" if content else b"")
        body = Filler().fill(schema, said) if self.is_full else sample(schema, said)
        self.answers.append((path, body))
        return httpx2.Response(status, json=body, headers={"ETag": ETAG})

    @property
    def lines(self) -> list[str]:
        """Each request in a line, with its condition and its body."""
        return [
            " ".join(
                [
                    request.method,
                    str(request.url).removeprefix("http://played"),
                    *([f"if {request.headers['if-match']}"] if "if-match" in request.headers else []),
                    *([_write_body(request)] if request.content else []),
                ]
            )
            for request in self.requests
        ]

    @property
    def changes(self) -> list[str]:
        return [line for line in self.lines if not line.startswith("GET ")]


def _write_body(request: httpx2.Request) -> str:
    if "json" not in request.headers.get("content-type", ""):
        return request.content.decode().strip()
    return json.dumps(json.loads(request.content), sort_keys=True)


KNOWN: dict[str, Any] = {
    "/auth/me": {"organisationID": OURS},
    "/auth/api-keys": [{"id": THING, "name": "Gateway"}],
    f"/organisations/{OTHERS}/api-keys": [{"id": THING, "name": "Robot"}],
    "/auth/sessions": [{"id": SECOND}, {"id": THING}],
    "/fleets": [{"id": THING, "name": "Nord"}],
    f"/organisations/{OURS}/members": [{"id": THING, "username": "ada"}],
    f"/organisations/{OTHERS}/members": [{"id": SECOND, "username": "ada"}],
    f"/organisations/{OURS}/invitations": [{"id": THING, "email": "bo@example.com", "status": "PENDING"}],
    "/sandbox/clock": {"now": "2026-11-18T12:00:00Z"},
    "/organisations": [{"id": OURS, "name": "Nordlicht"}, {"id": OTHERS, "name": "Südwind"}],
    "/physical-assets": [{"id": BATTERY, "name": "Husum"}, {"id": SECOND, "name": "31"}],
    f"/organisations/{OURS}/virtual-assets": [{"id": VIRTUAL, "name": "Elbe"}, {"id": SECOND, "name": "Weser"}],
    f"/organisations/{OTHERS}/virtual-assets": [{"id": SECOND, "name": "Rhein"}],
    f"/organisations/{OURS}/portfolios": [{"id": THING, "name": "North"}],
    f"/organisations/{OURS}/orders": [{"id": SECOND}, {"id": THING}],
    f"POST /organisations/{OURS}/orders": [{"id": THING}],
    f"/physical-assets/{BATTERY}/unavailability": [{"id": SECOND}, {"id": THING}],
    "/webhooks": [{"id": SECOND}, {"id": THING}],
    f"/webhooks/{THING}/deliveries": [{"id": THING}],
    f"/physical-assets/{BATTERY}/exchange-notifications": [{"id": THING}],
    f"/physical-assets/{BATTERY}/logbook": [{"id": THING}],
    "/delivery/runs": [{"id": THING}],
    f"/organisations/{OURS}/virtual-assets/{VIRTUAL}/blocks": [{"id": THING}],
    **{
        f"/revenue-reporting/{kind}/{id}/data-points": {
            "data": {"revenue_total_revenue": [{"value": 11.5}], "revenue_wholesale": [{"value": 7.5}]}
        }
        for kind, id in (
            ("virtual-assets", VIRTUAL),
            ("physical-assets", BATTERY),
            ("portfolios", THING),
            ("fleets", THING),
            ("organisations", OTHERS),
        )
    },
    "/auctions": [{"id": THING}],
    f"/auctions/{THING}": {"currentBid": {"id": SECOND, "price": 5, "timestamp": FORMATS["date-time"]}},
    f"/organisations/{OURS}/statements": [{"id": THING, "month": "2026-09"}, {"id": SECOND, "month": "2026-08"}],
    f"/organisations/{OTHERS}/statements": [{"id": BATTERY, "month": "2026-09"}],
}


@dataclass(frozen=True)
class Shown:
    code: int
    out: str
    err: str
    service: PlayedService
    pauses_s: Sequence[float]
    """Between looks at what goes on in the service; they take no time."""


Run = Callable[..., Shown]


def play_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path) -> Run:
    """Runs command lines in this process, with what is known to the service besides; at a terminal, where a person
    presses Enter whatever is asked, or at none."""
    terminal = home / "terminal" / "tty"
    monkeypatch.setattr(asking, "Path", lambda _: terminal)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GRIDLOOM_URL", "http://played")
    monkeypatch.setenv("GRIDLOOM_API_KEY", "k")
    monkeypatch.setenv("COLUMNS", "160")

    def call(
        command: str,
        known: Mapping[str, Any] = {},
        typed: str = "",
        *,
        is_full: bool = False,
        at_terminal: bool = False,
    ) -> Shown:
        if at_terminal:
            terminal.parent.mkdir()
            terminal.touch()
        pauses_s: list[float] = []
        replace_for(monkeypatch, progress, "time", sleep=pauses_s.append)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
        service = PlayedService({**KNOWN, **known}, is_full=is_full)
        monkeypatch.setattr(
            "gridloom_client.commands.terminal.options.make_client",
            lambda url, **_: Client(url, api_key="k", transport=httpx2.MockTransport(service)),
        )
        words = shlex.split(command)
        code = 0
        try:
            make_app(words[0])(words, result_action="return_value")
        except SystemExit as end:
            code = int(end.code or 0)
        printed = capsys.readouterr()
        return Shown(code, printed.out, printed.err, service, pauses_s)

    return call
