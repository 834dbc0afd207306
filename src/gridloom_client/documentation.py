"""The docstring of every method: what it does, its parameters, its answer and one example, from `operations.json`.

`sdk/generate.py` writes `operations.json` from the interface description.
"""

from __future__ import annotations

import inspect
import textwrap
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from gridloom_client.wire import field_name, parameter_name

_WIDTH: Final = 100
_EXAMPLE_ID: Final = "01890a5d-ac96-774b-bcce-b302099a8057"
_USUAL: Final = {
    "if_match": "The ETag that the resource must still have; PreconditionFailedError otherwise.",
    "idempotency_key": "A key under which the request takes effect once; a new one for each call when left out.",
    "page_size": "How many items are fetched at a time.",
    "cursor": "Where to go on: the `next_cursor` of the answer before.",
    "content_type": "The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET.",
    "last_event_id": "Where to go on: the `place` of the last event that was received.",
    "partial": "Whether points may be refused; where they may not, PointsRefusedError is raised.",
    "body": "Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken.",
}


class OperationText(msgspec.Struct, frozen=True):
    """The text of an operation in the interface description."""

    summary: str
    description: str = ""
    names: dict[str, str] = {}
    """The description of each parameter and field of the body, by its name on the wire."""
    examples: dict[str, Any] = {}
    """An example of each field of the body; of a body that is no object under `body`."""


@cache
def read_texts() -> dict[str, OperationText]:
    content = files("gridloom_client").joinpath("operations.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, OperationText])


def summarise(method: str, path: str) -> str:
    """The summary of an operation."""
    text = read_texts().get(f"{method} {path}")
    return text.summary if text else ""


def describe_method(name: str, method: str, path: str, signature: inspect.Signature, own_text: str | None) -> str:
    """The docstring of `name` (such as `auctions.bid`)."""
    text = read_texts().get(f"{method} {path}", OperationText(summary=name))
    parts = [f"{text.summary}.", *_wrap_paragraphs(text.description)]
    if own_text and own_text.rstrip(".") not in text.description:
        parts += _wrap_paragraphs(own_text)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    if parameters:
        parts.append("\n".join(["Parameters", "----------", *(_describe_parameter(each, text) for each in parameters)]))
    answer = signature.return_annotation
    parts.append(f"Returns\n-------\n{answer if isinstance(answer, str) else 'None'}")
    parts.append(f"Example\n-------\n{make_example(name, parameters, text)}")
    return "\n\n".join([*parts, f"{method} {path}"])


def make_example(name: str, parameters: list[inspect.Parameter], text: OperationText) -> str:
    """A call with what must be given: `client.auctions.bid("0189…", price="1250.50")`."""
    given: list[str] = []
    for each in parameters:
        if each.default is not each.empty:
            continue
        value = _write_value(each, text)
        given.append(value if each.kind is not each.KEYWORD_ONLY else f"{each.name}={value}")
    return f"client.{name}({', '.join(given)})"


def _describe_parameter(parameter: inspect.Parameter, text: OperationText) -> str:
    name, annotation = parameter.name, parameter.annotation
    described = (
        text.names.get(field_name(name)) or text.names.get(parameter_name(name)) or _USUAL.get(name) or "See above."
    )
    head = f"{name} : {annotation if isinstance(annotation, str) else ''}".rstrip(" :")
    is_optional = parameter.default is not parameter.empty
    lines = textwrap.wrap(described, _WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([f"{head}, optional" if is_optional else head, *lines])


def _wrap_paragraphs(text: str) -> list[str]:
    return [textwrap.fill(paragraph, _WIDTH) for paragraph in text.split("\n\n") if paragraph.strip()]


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
    return repr(found).replace("'", '"') if isinstance(found, str) else repr(found)
