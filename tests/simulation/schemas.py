"""Whether an answer is one that `openapi.json` declares: its status, and its body by the schema of that status."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
from tests.simulation.calls import Answer

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
        self._reads = {
            name: re.compile(re.sub(r"{[^}]+}", "[^/]+", path))
            for name, (method, path, _) in self.operations.items()
            if method == "GET"
        }
        self._validators: dict[tuple[str, int], Any] = {}

    def is_paged(self, operation: str) -> bool:
        """Whether an operation answers page by page."""
        return any("cursor" in str(one) for one in self.operations[operation][2].get("parameters", ()))

    def find_permission(self, operation: str) -> str | None:
        """What a caller needs."""
        found = self.operations[operation][2].get("x-permission")
        return None if found is None else str(found)

    def find_read(self, path: str) -> str | None:
        """The operation that reads what is at a path."""
        return next((name for name, template in self._reads.items() if template.fullmatch(path)), None)

    def list_required(self, operation: str) -> list[str]:
        """Fields that its body must have."""
        body = self.operations[operation][2].get("requestBody", {})
        schema = body.get("content", {}).get("application/json", {}).get("schema", {})
        return list(self._resolve(schema).get("required", ()))

    def explain_fault(self, operation: str, answer: Answer) -> str | None:
        """What is wrong with an answer, or None."""
        status, content_type = answer.status, answer.headers.get("content-type", "")
        declared = self.operations[operation][2]["responses"].get(str(status))
        if declared is None:
            return f"{operation} does not declare {status}"
        if status in (204, 302):
            return None if not answer.content else "no body was declared"
        validator = self._find_validator(operation, status, declared, content_type)
        if validator is None:
            return None
        if validator.is_valid(answer.body):
            return None
        error = next(validator.iter_errors(answer.body))
        return f"{'/'.join(map(str, error.instance_path))}: {error.message}"[:500]

    def _find_validator(self, operation: str, status: int, declared: dict[str, Any], content_type: str) -> Any:
        key, media = (operation, status), content_type.partition(";")[0]
        if "json" not in media:
            return None
        if key not in self._validators:
            response = self._resolve(declared)
            schema = response.get("content", {}).get(media, {}).get("schema")
            if schema is None:
                return None
            self._validators[key] = jsonschema_rs.Draft202012Validator(
                {**schema, "components": {"schemas": self._find_needed(schema)}}, validate_formats=True
            )
        return self._validators[key]

    def _find_needed(self, schema: Any) -> dict[str, Any]:
        """The named schemas that one refers to, and those that they refer to: compiling all takes many times longer."""
        needed: dict[str, Any] = {}
        waiting = [schema]
        while waiting:
            for name in re.findall(r"#/components/schemas/([A-Za-z0-9_]+)", json.dumps(waiting.pop())):
                if name not in needed:
                    needed[name] = self._document["components"]["schemas"][name]
                    waiting.append(needed[name])
        return needed

    def _resolve(self, declared: dict[str, Any]) -> dict[str, Any]:
        reference = declared.get("$ref")
        if reference is None:
            return declared
        found: Any = self._document
        for part in re.split("/", reference.removeprefix("#/")):
            found = found[part]
        return found  # type: ignore[no-any-return]


@cache
def list_problem_types() -> frozenset[str]:
    """Every problem type that some operation declares."""
    return frozenset(re.findall(r"docs/problems/([a-z0-9-]+)", DOCUMENT.read_text()))


@cache
def read_interface() -> OpenApiDocument:
    return OpenApiDocument(json.loads(DOCUMENT.read_text()))
