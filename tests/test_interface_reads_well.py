"""The interface reads well: every word described, every example true, nothing left over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.grammars import leave_out_grammars

from gridloom.app import create_edge
from gridloom.kernel.problem import BadRequest
from gridloom.platform.http import to_json
from gridloom.platform.http.decode.json_decoder import decoder_of
from gridloom.platform.http.decode.parameters import parameter_decoder_of
from gridloom.platform.http.openapi.field_descriptions import field_descriptions
from gridloom.platform.http.openapi.vocabulary import FROM_TYPE
from gridloom.platform.http.operation import Operation
from gridloom.settings import Settings

if TYPE_CHECKING:
    import jsonschema

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
    leave_out_grammars()
    import jsonschema

    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    return jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]}, format_checker=checker)


def structs_in(part: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object with fields, by the name of its struct."""
    if isinstance(part, dict):
        if "properties" in part:
            name = part.get("title", name)
            yield name, part["properties"]
        for key, value in part.items():
            yield from structs_in(value, key if part is DOCUMENT["components"]["schemas"] else name)
    elif isinstance(part, list):
        for value in part:
            yield from structs_in(value, name)


def fields() -> list[tuple[str, str, dict[str, Any]]]:
    """Struct, name and schema of every field and of every parameter of a query."""
    found = [
        (struct, name, schema)
        for struct, properties in structs_in(
            [DOCUMENT["components"]["schemas"], DOCUMENT["paths"], DOCUMENT["webhooks"]]
        )
        for name, schema in properties.items()
        if struct not in ("", "Problem")
    ]
    for method, path, each in described():
        query = OPERATIONS[method, path].query
        found += [
            (query.__name__, parameter["name"], parameter["schema"])
            for parameter in map(resolved, each["parameters"])
            if query is not None and parameter["in"] == "query"
        ]
    return found


def kinds_of(schema: dict[str, Any]) -> set[str]:
    """The JSON types that a field may have, but null; an enumeration is of texts."""
    schema = resolved(schema)
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if options:
        return {kind for option in options for kind in kinds_of(option)}
    kind = schema.get("type", "string")
    return set() if kind == "null" else {"number" if kind == "integer" else kind}


def choices_of(schema: dict[str, Any]) -> list[str]:
    """The values of an enumeration, also of an optional one and of a list."""
    schema = resolved(schema)
    parts = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *([schema["items"]] if "items" in schema else ())]
    return [
        *(choice for choice in schema.get("enum", ()) if choice),
        *(one for part in parts for one in choices_of(part)),
    ]


NAMED_BY_THE_OPERATION = ("listReferencePrices", "deleteReferencePrices")
"""Series are looked up, and named, by the operation itself: tests/reference_prices holds that."""


class TestAWrongChoice:
    def test_in_a_query_is_answered_with_the_choices_by_every_operation(self):
        tried = set()
        for method, path, each in described():
            query = OPERATIONS[method, path].query
            for parameter in map(resolved, each["parameters"]):
                choices = choices_of(parameter["schema"])
                is_named_there = each["operationId"] in NAMED_BY_THE_OPERATION
                if query is None or parameter["in"] != "query" or not choices or is_named_there:
                    continue
                with pytest.raises(BadRequest) as refusal:
                    parameter_decoder_of(query)([(parameter["name"], "NO-CHOICE")])
                (detail,) = (
                    error.detail for error in refusal.value.errors if error.pointer == f"query:{parameter['name']}"
                )
                named = set(detail.partition("one of ")[2].split(", "))
                assert named == set(choices), (method, path, detail)
                tried.add(each["operationId"])
        assert len(tried) > 20


class TestNames:
    def test_of_components_are_plain_words(self):
        for kind in ("schemas", "responses", "parameters"):
            assert [name for name in DOCUMENT["components"][kind] if not name.isalnum()] == []

    def test_of_refusals_join_no_problems(self):
        assert [name for name in DOCUMENT["components"]["responses"] if re.search(r"[a-z]Or[A-Z]", name)] == []

    def test_of_operations_use_one_verb_for_one_thing(self):
        verbs = {re.match(r"[a-z]+", each["operationId"]).group() for _, _, each in described()}  # type: ignore[union-attr]
        assert not verbs & {"get", "change"}


class TestACreatedResource:
    def test_is_read_where_its_location_says(self):
        def blank(path: str) -> str:
            return re.sub(r"\{\w+\}", "{}", path)

        read = {blank(one.path) for one in OPERATIONS.values() if one.method == "GET"}
        creating = {one.operation_id: one.location for one in OPERATIONS.values() if one.status == 201}
        assert [name for name, location in creating.items() if blank(location or "") not in read] == []


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
        assert missing == [], "say what they mean in gridloom/field_descriptions.toml"

    def test_stand_beside_every_parameter(self):
        missing = {
            f"{path} {parameter['name']}"
            for _, path, each in described()
            for parameter in map(resolved, each["parameters"])
            if not parameter.get("description")
        }
        assert missing == set(), "say what they mean in gridloom/field_descriptions.toml"

    def test_that_are_shared_by_a_name_are_of_fields_of_one_type(self):
        """A phrase such as "Energy, MWh" is not true of a field that is an object."""
        terms = field_descriptions().terms
        seen: dict[str, dict[str, str]] = {}
        for struct, name, schema in fields():
            # A text beside a number is the number's decimal notation; a number beside an instant is its milliseconds.
            kinds = {"string"} if "date-time" in str(schema) else kinds_of(schema)
            kind = "number" if kinds == {"number", "string"} else "/".join(sorted(kinds))
            if name in terms and f"{struct}.{name}" not in terms:
                seen.setdefault(name, {}).setdefault(kind, struct)
        assert {name: kinds for name, kinds in seen.items() if len(kinds) > 1} == {}, (
            "describe one of them by its struct"
        )

    def test_of_a_struct_are_of_a_field_that_it_has(self):
        known = {f"{struct}.{name}" for struct, name, _ in fields()}
        assert {term for term in field_descriptions().terms if "." in term} - known == set()

    def test_state_what_a_field_is(self):
        """A phrase that begins with a question leaves it open."""
        asked = re.compile(r"(What|Who|Whose|Whom)\b")
        assert {
            term: each.description for term, each in field_descriptions().terms.items() if asked.match(each.description)
        } == {}

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
    def test_of_a_field_is_one_of_its_values(self):
        vocabulary = field_descriptions()
        checked, faults = 0, {}
        for struct, name, schema in fields():
            term = vocabulary.find(name, struct)
            if term is None or term.example in (None, FROM_TYPE):
                continue
            checked += 1
            if not validator(schema).is_valid(term.example):
                faults[f"{struct}.{name}"] = term.example
            is_ratio = re.search(r"\b0 to 1(?!\d)", term.description) is not None
            if is_ratio and not (isinstance(term.example, int | float) and 0 <= term.example <= 1):
                faults[f"{struct}.{name}"] = term.example
        assert checked > 500
        assert faults == {}

    def test_is_made_of_no_placeholder(self):
        placeholders = [
            name
            for name, content in [*((name, content) for name, content, _ in bodies()), *answers()]
            if {'"text"', '"name":'}
            & set(re.findall(r'"text"|(?<=[{])"name":(?= [{[])', json.dumps(content["example"])))
        ]
        assert placeholders == [], "give their fields an example in gridloom/field_descriptions.toml"

    def test_of_a_body_is_taken_by_its_operation(self):
        assert bodies()
        for name, content, operation in bodies():
            assert not list(validator(content["schema"]).iter_errors(content["example"])), name
            if operation.body is not bytes:
                decoder_of(operation.body)(to_json(content["example"]))

    def test_of_an_answer_is_of_its_shape(self):
        assert answers()
        faults = [
            f"{name}: {error.message}"
            for name, content in answers()
            if "schema" in content
            for error in validator(content["schema"]).iter_errors(content["example"])
        ]
        assert faults == []
