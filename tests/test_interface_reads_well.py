"""The interface reads well: every word described, every example true, nothing left over."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gridloom.app import create_edge
from gridloom.edge import to_json
from gridloom.edge.decode.json_decoder import decoder_of
from gridloom.edge.operation import Operation
from gridloom.settings import Settings

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[1] / "openapi.json").read_text())
OPERATIONS = {
    (operation.method.lower(), operation.path): operation
    for operation in create_edge(Settings(environment="sandbox")).operations
}
JSON = "application/json"


def described() -> list[tuple[str, str, dict[str, Any]]]:
    return [(method, path, each) for path, item in DOCUMENT["paths"].items() for method, each in item.items()]


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        _, kind, name = part["$ref"].rsplit("/", 2)
        part = DOCUMENT["components"][kind][name]
    return part


def validator(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    """Formats count too: a moment is no example of a day."""
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    return jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]}, format_checker=checker)


class TestNames:
    def test_of_components_are_plain_words(self):
        for kind in ("schemas", "responses", "parameters"):
            assert [name for name in DOCUMENT["components"][kind] if not name.isalnum()] == []

    def test_of_refusals_join_no_problems(self):
        assert [name for name in DOCUMENT["components"]["responses"] if re.search(r"[a-z]Or[A-Z]", name)] == []

    def test_of_operations_use_one_verb_for_one_thing(self):
        verbs = {re.match(r"[a-z]+", each["operationId"]).group() for _, _, each in described()}  # type: ignore[union-attr]
        assert not verbs & {"get", "change"}


class TestComponents:
    def test_are_all_referred_to(self):
        whole = json.dumps(DOCUMENT)
        named = {
            f"#/components/{kind}/{name}"
            for kind, parts in DOCUMENT["components"].items()
            if kind != "securitySchemes"
            for name in parts
        }
        assert {name for name in named if f'"{name}"' not in whole} == set()

    def test_hold_every_parameter_that_several_operations_take(self):
        inlined = [
            json.dumps(p, sort_keys=True) for _, _, each in described() for p in each["parameters"] if "$ref" not in p
        ]
        assert len(inlined) == len(set(inlined))


class TestDescriptions:
    def test_stand_beside_every_field(self):
        missing = [
            f"{owner}.{name}"
            for owner, schema in DOCUMENT["components"]["schemas"].items()
            for name, field in schema.get("properties", {}).items()
            if owner != "Problem" and not field.get("description")
        ]
        assert missing == [], "say what they mean in gridloom/field_descriptions.py"

    def test_stand_beside_every_parameter(self):
        missing = {
            f"{path} {parameter['name']}"
            for _, path, each in described()
            for parameter in map(resolved, each["parameters"])
            if not parameter.get("description")
        }
        assert missing == set(), "say what they mean in gridloom/field_descriptions.py"

    def test_stand_beside_every_tag(self):
        assert [tag["name"] for tag in DOCUMENT["tags"] if not tag.get("description")] == []


def bodies() -> list[tuple[str, dict[str, Any], Operation]]:
    return [
        (each["operationId"], each["requestBody"]["content"][JSON], OPERATIONS[method, path])
        for method, path, each in described()
        if JSON in each.get("requestBody", {}).get("content", {})
    ]


def answers() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{each['operationId']} {status}", resolved(answer)["content"][JSON])
        for _, _, each in described()
        for status, answer in each["responses"].items()
        if JSON in resolved(answer).get("content", {})
    ]


class TestAnExample:
    @pytest.mark.parametrize(("name", "content", "operation"), bodies(), ids=[name for name, _, _ in bodies()])
    def test_of_a_body_is_taken_by_its_operation(self, name: str, content: dict[str, Any], operation: Operation):
        assert not list(validator(content["schema"]).iter_errors(content["example"]))
        if operation.body is not bytes:
            decoder_of(operation.body)(to_json(content["example"]))

    @pytest.mark.parametrize(("name", "content"), answers(), ids=[name for name, _ in answers()])
    def test_of_an_answer_is_of_its_shape(self, name: str, content: dict[str, Any]):
        if "schema" in content:
            faults = [error.message for error in validator(content["schema"]).iter_errors(content["example"])]
            assert faults == []
