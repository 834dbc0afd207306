"""The finishing of a document: every field and parameter described, every body with an example, nothing unused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from gridloom.platform.http.openapi.vocabulary import FROM_TYPE, Vocabulary

JSON: Final = "application/json"
PROBLEM: Final = "Problem"
"""The schema that describes its fields itself."""
_TYPES: Final[dict[str, type | None]] = {
    "string": str,
    "number": float,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": None,
}
_BY_FORMAT: Final = {
    "uuid": "01890a5d-ac96-774b-bcce-b302099a8057",
    "date-time": "2026-03-29T00:00:00Z",
    "date": "2026-03-29",
    "duration": "PT1H",
}


def add_descriptions(document: dict[str, Any], vocabulary: Vocabulary) -> None:
    """Describe every tag and every field, and give every JSON body an example."""
    for tag in document["tags"]:
        tag["description"] = vocabulary.tags.get(tag["name"], "")
    for owner, component in document["components"]["schemas"].items():
        if owner != PROBLEM:
            _describe_fields(component, vocabulary, owner)
    for operation in _operations_of(document):
        for content in _bodies_of(operation):
            _describe_fields(content, vocabulary, "")
    examples = Examples(document["components"]["schemas"], vocabulary)
    for operation in _operations_of(document):
        for content in _bodies_of(operation):
            if JSON in content and "schema" in content[JSON]:
                content[JSON].setdefault("example", examples.make(content[JSON]["schema"]))


def drop_unused(document: dict[str, Any]) -> None:
    """Only what an operation refers to, directly or through another component, stays among the schemas."""
    schemas = document["components"]["schemas"]
    reached: set[str] = set()
    waiting = set(_names_in({**document, "components": {**document["components"], "schemas": {}}}))
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= set(_names_in(schemas[name])) - reached
    document["components"]["schemas"] = {name: schema for name, schema in schemas.items() if name in reached}


def _describe_fields(part: Any, vocabulary: Vocabulary, owner: str) -> None:
    """Of a struct, and of the structs that are written out within it, which have their names as titles.

    A schema written by hand may describe its fields itself.
    """
    if isinstance(part, list):
        for value in part:
            _describe_fields(value, vocabulary, owner)
    elif isinstance(part, dict):
        if "properties" in part:
            owner = part.get("title", owner)
            for name, schema in part["properties"].items():
                term = vocabulary.find(name, owner)
                if term is not None:
                    schema.setdefault("description", term.description)
        for value in part.values():
            _describe_fields(value, vocabulary, owner)


def _operations_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in (*document["paths"].values(), *document.get("webhooks", {}).values()):
        yield from item.values()


def _bodies_of(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield operation.get("requestBody", {}).get("content", {})
    for response in operation["responses"].values():
        yield response.get("content", {})


def _names_in(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref" and value.startswith("#/components/schemas/"):
                yield value.rsplit("/", 1)[-1]
            else:
                yield from _names_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from _names_in(value)


def _is_of_type(example: Any, schema: dict[str, Any]) -> bool:
    options = list(_options_of(schema))
    if any("enum" in option for option in options):
        return True
    kinds = {option["type"] for option in options if "type" in option}
    return (
        not kinds
        or any(_TYPES[kind] is type(example) for kind in kinds)
        or (isinstance(example, int | float) and not isinstance(example, bool) and bool(kinds & {"number", "integer"}))
    )


def _options_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema, and all that it is a choice of."""
    yield schema
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _options_of(option)


class Examples:
    """A body that a schema accepts, made of the vocabulary's examples."""

    def __init__(self, schemas: dict[str, Any], vocabulary: Vocabulary) -> None:
        self._schemas = schemas
        self._vocabulary = vocabulary

    def make(self, schema: dict[str, Any], name: str = "", owner: str = "") -> Any:
        term = self._vocabulary.find(name, owner) if name else None
        example = None if term is None or term.example is FROM_TYPE else term.example
        if "$ref" in schema:
            owner = schema["$ref"].rsplit("/", 1)[-1]
            if example is not None and "properties" not in self._schemas[owner]:
                return self._fit_example(example, self._schemas[owner])
            return self.make(self._schemas[owner], "", owner)
        if "properties" in schema:
            owner = schema.get("title", owner)
            return {
                field: self.make(inner, field, owner)
                for field, inner in schema["properties"].items()
                if field in schema.get("required", ()) or not self._is_left_out(field, owner)
            }
        if example is not None and _is_of_type(example, schema):
            return self._fit_example(example, schema)
        return self._make_plain(schema, name, owner)

    def _is_left_out(self, field: str, owner: str) -> bool:
        term = self._vocabulary.find(field, owner)
        return term is not None and term.example is None

    def _fit_example(self, example: Any, schema: dict[str, Any]) -> Any:
        """The example, unless the type is an enumeration that does not have it."""
        choices = [choice for option in _options_of(schema) for choice in option.get("enum", ())]
        return choices[0] if choices and example not in choices else example

    def _make_plain(self, schema: dict[str, Any], name: str, owner: str) -> Any:
        for word in ("anyOf", "oneOf"):
            if word in schema:
                options = [option for option in schema[word] if option != {"type": "null"}]
                if len(options) < len(schema[word]) and name and not {"$ref", "items"} & options[0].keys():
                    return None  # nothing is known that it would be
                return self.make(options[0], name, owner)
        if schema.get("examples"):
            return schema["examples"][0]
        for word in ("const", "default"):
            if schema.get(word) is not None:
                return schema[word]
        if schema.get("enum"):
            return schema["enum"][0]
        if schema.get("format") in _BY_FORMAT:
            return _BY_FORMAT[schema["format"]]
        kind = schema.get("type")
        if kind == "array":
            return [self.make(schema.get("items", {}), re.sub("(ID|id)s$", r"\1", name), owner)]
        if kind == "object":
            inner = schema.get("additionalProperties")
            return {"name": self.make(inner, "", owner)} if isinstance(inner, dict) and inner else {}
        return {"string": "text", "number": 1, "integer": 1, "boolean": True}.get(kind or "")
