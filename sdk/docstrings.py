"""The docstrings of the SDK's methods: what an editor shows, written into `resources/` from openapi.json.

A method is declared by its decorator and its signature. Its docstring is generated, but for the section `Note:`, which
says what only the SDK knows and stays as it is.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from pathlib import Path
from pprint import pformat
from typing import Any, Final

from gridloom_client.operations import Endpoint
from gridloom_client.wire import field_name, parameter_name

_WIDTH: Final = 120
_INDENT: Final = " " * 8
_EXAMPLE_ID: Final = "01890a5d-ac96-774b-bcce-b302099a8057"
_SECTION: Final = re.compile(r"^(Args|Note|Example):$", re.MULTILINE)
_USUAL: Final = {
    "if_match": "The ETag that the resource must still have; PreconditionFailedError otherwise",
    "idempotency_key": "A key under which the request takes effect once; a new one for each call when left out",
    "page_size": "How many items are fetched at a time",
    "cursor": "Where to go on: the `next_cursor` of the answer before",
    "content_type": "The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET",
    "last_event_id": "Where to go on: the `place` of the last event that was received",
    "partial": "Whether points may be refused; where they may not, PointsRefusedError is raised",
    "body": "Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken",
}


@dataclass(frozen=True)
class OperationText:
    """The text of an operation in the interface description."""

    summary: str
    description: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """The description of each parameter and field of the body, by its name on the wire."""
    examples: Mapping[str, Any] = field(default_factory=dict)
    """An example of each field of the body; of a body that is no object under `body`."""


def write_docstrings(path: Path, texts: Mapping[str, OperationText]) -> str:
    """A module of `resources/` with the docstring of each of its methods."""
    source = path.read_text()
    lines = source.splitlines(keepends=True)
    for endpoint, node in sorted(_list_methods(path, source), key=lambda found: -found[1].lineno):
        body = node.body[0]
        note = find_note(ast.get_docstring(node) or "")
        docstring = write_docstring(endpoint, texts[f"{endpoint.method} {endpoint.path}"], note)
        head = lines[body.lineno - 1][: body.col_offset].rstrip()  # of `def get(self) -> Bid: ...`
        lines[body.lineno - 1 : body.end_lineno] = [f"{head}\n" if head else "", docstring]
    return "".join(lines)


def _list_methods(path: Path, source: str) -> Iterator[tuple[Endpoint[..., Any], ast.FunctionDef]]:
    module = import_module(f"gridloom_client.resources.{path.stem}")
    for holder in ast.parse(source).body:
        if isinstance(holder, ast.ClassDef):
            for node in holder.body:
                endpoint = getattr(module, holder.name).__dict__.get(getattr(node, "name", ""))
                if isinstance(node, ast.FunctionDef) and isinstance(endpoint, Endpoint):
                    yield endpoint, node


def find_note(docstring: str) -> str:
    _, *sections = _SECTION.split(docstring)
    named = dict(zip(sections[::2], sections[1::2], strict=True))
    return textwrap.dedent(named.get("Note", "").strip("\n")).strip()


def write_docstring(endpoint: Endpoint[..., Any], text: OperationText, note: str) -> str:
    parameters = [each for each in endpoint.signature.parameters.values() if each.name != "self"]
    parts = [f'"""{text.summary}.', *_wrap_paragraphs(text.description, "")]
    if parameters:
        described = [
            textwrap.fill(
                f"{each.name}: {describe_parameter(each.name, text)}",
                _WIDTH - len(_INDENT),
                initial_indent="    ",
                subsequent_indent=" " * 8,
                break_on_hyphens=False,
            )
            for each in parameters
        ]
        parts.append("\n".join(["Args:", *described]))
    if note:
        parts.append("Note:\n" + "\n\n".join(_wrap_paragraphs(note, "    ")))
    if any(each.default is each.empty and each.name not in endpoint.in_path for each in parameters):
        example = textwrap.indent(make_example(endpoint.full_name, parameters, text), "    ")
        parts.append(f"Example:\n{example}")
    end = '"""' if len(parts) == 1 else '\n"""'
    return textwrap.indent("\n\n".join(parts) + end, _INDENT) + "\n"


def _wrap_paragraphs(text: str, indent: str) -> list[str]:
    width = _WIDTH - len(_INDENT)
    return [
        textwrap.fill(paragraph, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        for paragraph in text.split("\n\n")
        if paragraph.strip()
    ]


def describe_parameter(name: str, text: OperationText) -> str:
    described = text.names.get(field_name(name)) or text.names.get(parameter_name(name)) or _USUAL.get(name)
    assert described, f"{name} of {text.summary!r} is described nowhere"
    return described


def make_example(name: str, parameters: list[inspect.Parameter], text: OperationText) -> str:
    """A call with what must be given: `client.auctions.bid("0189…", price="1250.50")`."""
    given: list[str] = []
    for each in parameters:
        if each.default is not each.empty:
            continue
        name_of_it = "" if each.kind is not each.KEYWORD_ONLY else f"{each.name}="
        given.append(name_of_it + _write_value(each, text))
    call = f"client.{name}({', '.join(given)})"
    if len(call) < _WIDTH - len(_INDENT) - 4:
        return call
    listed = textwrap.indent(",\n".join(given), "    ")
    return f"client.{name}(\n{listed},\n)"


def _write_value(parameter: inspect.Parameter, text: OperationText) -> str:
    annotation = str(parameter.annotation)
    found = text.examples.get(field_name(parameter.name), text.examples.get(parameter_name(parameter.name)))
    if annotation.startswith("datetime") and isinstance(found, str | None):
        instant = datetime.fromisoformat((found or "2026-03-29T00:00:00Z").replace("Z", "+00:00"))
        return f'datetime.fromisoformat("{instant.isoformat()}")'
    if "Decimal" in annotation and isinstance(found, int | float):
        return f'"{found:.2f}"'
    if found is None:
        found = _EXAMPLE_ID if annotation.startswith("ID") else "text"
    if isinstance(found, str):
        return json.dumps(found, ensure_ascii=False)
    return pformat(found, width=_WIDTH - 2 * len(_INDENT), sort_dicts=False)
