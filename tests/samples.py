"""The smallest body and query that an operation's schema accepts, for tests that walk over all operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from uuid import UUID

from hypothesis import find, strategies

from gridloom.platform.http.openapi.document import describe
from gridloom.platform.http.openapi.vocabulary import Vocabulary
from gridloom.platform.http.operation import Operation

NAMED: dict[str, Any] = {
    "start": "2030-01-01T00:00:00Z",
    "end": "2030-01-01T04:00:00Z",
    "eventStart": "2030-01-01T00:00:00Z",
    "eventEnd": "2030-01-01T04:00:00Z",
    "time": "2030-01-01T00:00:00Z",
    "email": "ada@example.org",
    "password": "harbour-spindle-ochre-72",
    "newPassword": "harbour-spindle-ochre-73",
    "product": "NEGPOS_00_04",
    "product-keys": "2030-01-01_NEGPOS_00_04",
    "url": "https://example.org/hook",
    "share": 1,
}
"""Values that say more than their schema can, by the name of the field or parameter."""

FORMATS: dict[str, Any] = {
    "date-time": "2030-01-01T00:00:00Z",
    "date": "2030-01-01",
    "uuid": str(UUID(int=7)),
    "uri": "https://example.org",
    "decimal": "1.00",
}


class Sampler:
    def __init__(self, operations: tuple[Operation, ...], ids: Mapping[str, UUID]) -> None:
        """ids: which resource a field such as `organisationID` names."""
        self._document = describe(operations, Vocabulary(), servers=())
        self._ids = ids

    def _described(self, operation: Operation) -> dict[str, Any]:
        found: dict[str, Any] = self._document["paths"][operation.path][operation.method.lower()]
        return found

    def body(self, operation: Operation) -> Any:
        """A JSON body; None where the operation takes none that is described."""
        content = self._described(operation).get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        return None if schema is None else self._sample(schema, "")

    def query(self, operation: Operation) -> dict[str, str]:
        """The required parameters, as text."""
        parameters = self._described(operation)["parameters"]
        needed = [parameter for parameter in parameters if parameter["in"] == "query" and parameter["required"]]
        return {parameter["name"]: self._text(parameter) for parameter in needed}

    def _text(self, parameter: dict[str, Any]) -> str:
        value = self._sample(parameter["schema"], parameter["name"])
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)

    def _sample(self, schema: dict[str, Any], name: str) -> Any:
        if "$ref" in schema:
            return self._sample(self._document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]], name)
        if name in self._ids:
            return str(self._ids[name])
        if name in NAMED:
            return NAMED[name]
        for word in ("anyOf", "oneOf"):
            if word in schema:
                options = [option for option in schema[word] if option != {"type": "null"}]
                return self._sample(options[0], name) if options else None
        if "enum" in schema:
            return schema["enum"][0]
        if "const" in schema:
            return schema["const"]
        return self._BY_TYPE[schema.get("type", "object")](self, schema, name)

    def _object(self, schema: dict[str, Any], name: str) -> Any:
        properties = schema.get("properties", {})
        return {field: self._sample(properties[field], field) for field in schema.get("required", ())}

    def _array(self, schema: dict[str, Any], name: str) -> Any:
        return [self._sample(schema.get("items", {}), name.removesuffix("s")) for _ in range(schema.get("minItems", 1))]

    def _string(self, schema: dict[str, Any], name: str) -> Any:
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        if "examples" in schema:
            return schema["examples"][0]
        if "pattern" in schema:
            return _matching(schema["pattern"], schema.get("minLength", 0), schema.get("maxLength", 1000))
        return "x" * max(1, schema.get("minLength", 1))

    def _number(self, schema: dict[str, Any], name: str) -> Any:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        if "exclusiveMinimum" in schema:
            low = low + 1 if low + 1 < schema.get("maximum", float("inf")) else (low + schema["maximum"]) / 2
        return low

    def _boolean(self, schema: dict[str, Any], name: str) -> Any:
        return True

    def _null(self, schema: dict[str, Any], name: str) -> Any:
        return None

    _BY_TYPE: dict[str, Callable[..., Any]] = {
        "object": _object,
        "array": _array,
        "string": _string,
        "number": _number,
        "integer": _number,
        "boolean": _boolean,
        "null": _null,
    }


@cache
def _matching(pattern: str, shortest: int, longest: int) -> str:
    return find(strategies.from_regex(pattern, fullmatch=True), lambda text: shortest <= len(text) <= longest)
