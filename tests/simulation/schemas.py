"""Whether an answer is one that `openapi.json` declares: its status, and its body by the schema of that status."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

DOCUMENT = Path(__file__).parents[2] / "openapi.json"
METHODS = ("get", "post", "put", "patch", "delete")


class OpenApiDocument:
    """The declared operations with their validators, each compiled when it is first asked for."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self.operations: dict[str, tuple[str, str, dict[str, Any]]] = {
            declared["operationId"]: (method.upper(), path, declared)
            for path, item in document["paths"].items()
            for method, declared in item.items()
            if method in METHODS
        }
        self._validators: dict[tuple[str, int], Any] = {}

    def explain_fault(self, operation: str, status: int, content_type: str, content: bytes) -> str | None:
        """What is wrong with an answer, or None."""
        declared = self.operations[operation][2]["responses"].get(str(status))
        if declared is None:
            return f"{operation} does not declare {status}"
        if status == 204:
            return None if not content else "204 with a body"
        validator = self._find_validator(operation, status, declared, content_type)
        if validator is None:
            return None
        body = json.loads(content)
        error = next(validator.iter_errors(body), None)
        if error is None:
            return None
        return f"{'/'.join(map(str, error.instance_path))}: {error.message}"[:500]

    def _find_validator(self, operation: str, status: int, declared: dict[str, Any], content_type: str) -> Any:
        key = (operation, status)
        if key not in self._validators:
            response = self._resolve(declared)
            media = content_type.partition(";")[0]
            schema = response.get("content", {}).get(media, {}).get("schema")
            if schema is None or "json" not in media:
                return None
            self._validators[key] = jsonschema_rs.Draft202012Validator(
                {**schema, "components": self._document["components"]}, validate_formats=True
            )
        return self._validators[key]

    def _resolve(self, declared: dict[str, Any]) -> dict[str, Any]:
        reference = declared.get("$ref")
        if reference is None:
            return declared
        found: Any = self._document
        for part in re.split("/", reference.removeprefix("#/")):
            found = found[part]
        return found  # type: ignore[no-any-return]


@cache
def read_interface() -> OpenApiDocument:
    return OpenApiDocument(json.loads(DOCUMENT.read_text()))
