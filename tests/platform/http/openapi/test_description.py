"""An interface in OpenAPI: each part of a declared operation in its place, said once."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from gridloom.kernel.money import Euro
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Conflict, Forbidden
from gridloom.platform.http import (
    BULK,
    CONSOLE_SESSION,
    CONSOLE_SIGN_IN,
    CSV,
    JSON,
    PROBE,
    PUBLIC,
    SIGNED_IN,
    BodyFormat,
    Content,
    Instant,
    Page,
    Paging,
    Request,
    RequestBody,
    Response,
    ResponseBody,
    operation,
)
from gridloom.platform.http.openapi.document import describe
from gridloom.platform.http.openapi.parameters import share_parameters
from gridloom.platform.http.openapi.responses import possible_problems
from gridloom.platform.http.openapi.vocabulary import FROM_TYPE, FieldDescription, Vocabulary
from gridloom.platform.http.openapi.wording import Examples, add_descriptions, drop_unused
from gridloom.platform.http.operation import Deprecation, Operation

pytestmark = pytest.mark.pure

TAG = "Toys"


class NewToy(RequestBody, kw_only=True):
    name: str
    price: Annotated[Decimal, Euro(Decimal("0.01"), Decimal("1000.00"))]
    seen_at: Instant | UnsetType = UNSET


class Toy(ResponseBody):
    id: UUID
    price: Annotated[Decimal, Euro(Decimal("0.01"), Decimal("1000.00"))] | None
    weight: Decimal
    seen_at: list[datetime]
    sold_at: datetime | None


class Filter(Paging, kw_only=True):
    names: tuple[str, ...] | None = None
    since: Instant


@operation(
    "GET",
    "/toys/{toyID}",
    summary="Read a toy",
    access=Permission.READ_AUCTIONS,
    deprecation=Deprecation("@1", "Wed, 01 Jul 2026 00:00:00 GMT"),
)
async def read_toy(request: Request, toy_id: UUID) -> Response[Toy]:
    """Whatever it is."""
    raise AssertionError


@operation("GET", "/toys", summary="List toys", access=SIGNED_IN)
async def list_toys(request: Request, query: Filter) -> Page[Toy]:
    raise AssertionError


@operation("POST", "/toys", summary="Make a toy", access=SIGNED_IN, status=(201, 202), problems=(Conflict, Forbidden))
async def make_toy(request: Request, body: NewToy) -> Response[Toy]:
    raise AssertionError


@operation("PUT", "/toys/{toyID}/table", summary="Fill a toy", access=PUBLIC)
async def fill_toy(
    request: Request,
    toy_id: UUID,
    body: Annotated[bytes, BodyFormat(media_types=(JSON, CSV, "application/x"), schema={"type": "array"})],
) -> None:
    raise AssertionError


@operation("DELETE", "/toys/{toyID}", summary="Break a toy", access=CONSOLE_SESSION)
async def break_toy(request: Request, toy_id: UUID) -> None:
    raise AssertionError


@operation("GET", "/toys/{toyID}/parts/{partNumber}", summary="Read a part", access=SIGNED_IN)
async def read_part(request: Request, toy_id: UUID, part_number: int) -> dict[str, int]:
    raise AssertionError


@operation("POST", "/session", summary="Sign in", access=CONSOLE_SIGN_IN, produces=(CSV,))
async def sign_in(request: Request) -> Content:
    raise AssertionError


@operation("GET", "/live", summary="Live", access=PROBE)
async def live(request: Request) -> dict[str, int]:
    raise AssertionError


def declared(*handlers: Any) -> list[Operation]:
    return [handler.__operation__ for handler in handlers]


ALL = (read_toy, list_toys, make_toy, fill_toy, break_toy, sign_in, live)
WORDS = Vocabulary(
    {
        "toyID": FieldDescription("Which toy", FROM_TYPE),
        "names": FieldDescription("Of toys", FROM_TYPE),
        "Filter.since": FieldDescription("Seen since", FROM_TYPE),
        "since": FieldDescription("Since when", FROM_TYPE),
        "name": FieldDescription("What it is called", "Top"),
        "Toy.price": FieldDescription("What it costs", 12.5),
        "seenAt": FieldDescription("When it was seen", None),
    },
    {"Toys": "To play with."},
)
SERVERS = (("https://grid.example", "Production"), ("https://try.example", "Sandbox"))


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return describe(declared(*ALL), WORDS, servers=SERVERS)


@pytest.fixture(scope="module")
def paths(document: dict[str, Any]) -> dict[str, Any]:
    return dict(document["paths"])


def names(parameters: list[dict[str, Any]], where: str) -> list[str]:
    return [parameter["name"] for parameter in parameters if parameter["in"] == where]


class TestADocument:
    def test_names_its_servers_tags_and_ways_to_sign_in(self, document: dict[str, Any]) -> None:
        assert document["servers"] == [
            {"url": "https://grid.example", "description": "Production"},
            {"url": "https://try.example", "description": "Sandbox"},
        ]
        assert (document["tags"], document["security"]) == ([{"name": "Toys"}], [{"bearer": []}])
        schemes = document["components"]["securitySchemes"]
        assert schemes["consoleSession"]["name"] == "gridloom_session"
        assert schemes["bearer"]["scheme"] == "bearer"

    def test_says_of_each_operation_who_may_call_it(self, paths: dict[str, Any]) -> None:
        said = {
            each["operationId"]: (each.get("security"), each.get("x-permission"))
            for item in paths.values()
            for each in item.values()
        }
        assert said == {
            "readToy": (None, "Read:auctions"),
            "listToys": (None, None),
            "makeToy": (None, None),
            "fillToy": ([], None),
            "breakToy": ([{"consoleSession": []}], None),
            "signIn": ([{}, {"consoleSession": []}], None),
            "live": ([], None),
        }

    def test_marks_what_will_go_and_quotes_its_text(self, paths: dict[str, Any]) -> None:
        read, listed = paths["/toys/{toyID}"]["get"], paths["/toys"]["get"]
        assert (read["deprecated"], read["summary"], read["description"]) == (True, "Read a toy", "Whatever it is.")
        assert ("deprecated" in listed, "description" in listed, listed["tags"]) == (False, False, ["Toys"])


class TestParameters:
    def test_are_those_of_the_path_the_query_and_the_method(self, paths: dict[str, Any]) -> None:
        for path, method, inside, headers in (
            ("/toys/{toyID}", "get", ["toyID"], []),
            ("/toys/{toyID}", "delete", ["toyID"], ["If-Match"]),
            ("/toys/{toyID}/table", "put", ["toyID"], ["If-Match"]),
            ("/toys", "post", [], ["Idempotency-Key"]),
        ):
            parameters = paths[path][method]["parameters"]
            assert (names(parameters, "path"), names(parameters, "header")) == (inside, headers)

    def test_of_a_path_have_each_its_own_type(self) -> None:
        described = describe(declared(read_part), WORDS, servers=())["paths"]["/toys/{toyID}/parts/{partNumber}"]["get"]
        assert [(one["name"], one["required"], one["schema"]) for one in described["parameters"]] == [
            ("toyID", True, {"type": "string", "format": "uuid"}),
            ("partNumber", True, {"type": "integer"}),
        ]
        assert [one.get("description") for one in described["parameters"]] == ["Which toy", None]

    def test_of_a_query_say_what_is_needed_and_how_a_list_is_written(self, paths: dict[str, Any]) -> None:
        found = {parameter["name"]: parameter for parameter in paths["/toys"]["get"]["parameters"]}
        assert {name: parameter["required"] for name, parameter in found.items()} == {
            "limit": False,
            "cursor": False,
            "names": False,
            "since": True,
        }
        listed = found["names"]
        assert (listed["style"], listed["explode"], listed["schema"]) == (
            "form",
            False,
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        )
        assert found["cursor"]["schema"] == {"type": "string", "minLength": 1, "maxLength": 2000}, "and never null"
        timestamp, milliseconds = found["since"]["schema"]["anyOf"]
        assert timestamp == {"type": "string", "format": "date-time"}
        assert (milliseconds["type"], milliseconds["minimum"]) == ("integer", 946_684_800_000)
        described = {name: parameter.get("description") for name, parameter in found.items()}
        assert described == {"limit": None, "cursor": None, "names": "Of toys", "since": "Seen since"}

    def test_that_several_declare_alike_are_shared_under_one_name(self) -> None:
        def of(name: str, where: str = "query", kind: str = "string") -> dict[str, Any]:
            return {"name": name, "in": where, "schema": {"type": kind}}

        paths: dict[str, Any] = {
            "/a": {"get": {"parameters": [of("as-of"), of("id", "path"), of("once")]}, "put": {"parameters": []}},
            "/b": {"get": {"parameters": [of("as-of"), of("id"), of("id", "path")]}},
            "/c": {"get": {"parameters": [of("as-of"), of("id"), of("id", "path"), of("as-of", kind="integer")]}},
        }
        document: dict[str, Any] = {"paths": paths, "components": {}}
        share_parameters(document)
        shared = document["components"]["parameters"]
        assert shared == {"asOf": of("as-of"), "id": of("id", "path"), "idInQuery": of("id")}
        assert list(shared) == sorted(shared)
        references = {name: {"$ref": f"#/components/parameters/{name}"} for name in shared}
        assert paths["/a"]["get"]["parameters"] == [references["asOf"], references["id"], of("once")]
        assert paths["/c"]["get"]["parameters"] == [
            references["asOf"],
            references["idInQuery"],
            references["id"],
            of("as-of", kind="integer"),
        ]


class TestAnswers:
    def test_have_the_headers_of_their_shape(self, paths: dict[str, Any]) -> None:
        limited = {"X-Request-Id", "RateLimit-Policy", "RateLimit"}
        for path, method, status, more in (
            ("/toys/{toyID}", "get", "200", {"ETag"}),
            ("/toys", "get", "200", {"Link"}),
            ("/toys", "post", "201", {"ETag", "Idempotency-Replayed", "Location"}),
            ("/toys", "post", "202", {"Idempotency-Replayed", "Location", "Retry-After"}),
            ("/toys/{toyID}", "delete", "204", set()),
        ):
            assert set(paths[path][method]["responses"][status]["headers"]) == limited | more, (path, method, status)
        assert set(paths["/live"]["get"]["responses"]["200"]["headers"]) == {"X-Request-Id"}

    def test_have_a_body_where_there_is_one(self, paths: dict[str, Any]) -> None:
        toy = {"$ref": "#/components/schemas/Toy"}
        made = paths["/toys"]["post"]["responses"]
        assert made["201"]["content"] == made["202"]["content"] == {JSON: {"schema": toy}}
        assert (made["201"]["description"], made["202"]["description"]) == ("Created", "Accepted")
        assert paths["/toys"]["get"]["responses"]["200"]["content"] == {
            JSON: {"schema": {"type": "array", "items": toy}}
        }
        assert "content" not in paths["/toys/{toyID}"]["delete"]["responses"]["204"]
        assert paths["/session"]["post"]["responses"]["200"]["content"] == {CSV: {}}

    def test_that_refuse_are_those_that_the_shape_implies_and_those_declared(self) -> None:
        always = {"BadRequest", "NotAcceptable", "TooManyRequests", "InternalError", "Unavailable"}
        token = {"ShareExceeded", "Unauthenticated", "Forbidden"}
        body = {"PayloadTooLarge", "UnsupportedMediaType"}
        expected = {
            "readToy": always | token | {"NotFound"},
            "listToys": always | token | {"NotFound"},
            "makeToy": always | token | body | {"IdempotencyInProgress", "IdempotencyKeyReused", "Conflict"},
            "fillToy": always | body | {"NotFound", "PreconditionFailed"},
            "breakToy": always | {"NotFound", "PreconditionFailed"},
            "signIn": always | {"IdempotencyInProgress", "IdempotencyKeyReused"},
            "live": always,
        }
        found = {one.operation_id: [kind.__name__ for kind in possible_problems(one)] for one in declared(*ALL)}
        assert {name: set(kinds) for name, kinds in found.items()} == expected
        assert len(found["makeToy"]) == len(set(found["makeToy"])), "each once"

    def test_for_one_reason_alone_are_described_once(self, document: dict[str, Any]) -> None:
        responses = document["paths"]["/toys"]["post"]["responses"]
        refusals = document["components"]["responses"]
        assert responses["403"] == {"$ref": "#/components/responses/Forbidden"}
        assert "headers" in responses["409"], "for two reasons: written out"
        assert responses["409"]["description"].count("](/docs/problems/") == 2
        assert f"[{Conflict.title}](/docs/problems/conflict)" in responses["409"]["description"]
        assert list(refusals) == sorted(refusals)
        assert {name: set(one["headers"]) for name, one in refusals.items() if "Retry-After" in one["headers"]} == {
            "TooManyRequests": {"X-Request-Id", "Retry-After"},
            "Unavailable": {"X-Request-Id", "Retry-After"},
        }
        example = refusals["Forbidden"]["content"]["application/problem+json"]["example"]
        assert (example["type"], example["status"]) == ("/docs/problems/forbidden", 403)


class TestBodies:
    def test_are_described_by_their_type_and_raw_ones_by_their_format(self, paths: dict[str, Any]) -> None:
        made = paths["/toys"]["post"]["requestBody"]
        assert made == {"required": True, "content": {JSON: {"schema": {"$ref": "#/components/schemas/NewToy"}}}}
        assert paths["/toys/{toyID}/table"]["put"]["requestBody"]["content"] == {
            JSON: {"schema": {"type": "array"}},
            CSV: {"schema": {"type": "string"}},
            "application/x": {"schema": {"type": "string", "format": "binary"}},
        }
        assert "requestBody" not in paths["/toys"]["get"]
        assert BULK.media_types == (JSON,)

    def test_take_euros_as_numbers_or_texts_and_answer_numbers(self, document: dict[str, Any]) -> None:
        asked = document["components"]["schemas"]["NewToy"]["properties"]
        number = {"type": "number", "minimum": 0.01, "maximum": 1000.0, "multipleOf": 0.01}
        pattern = r"^-?[0-9]{1,12}(\.[0-9]{1,2})?(?!\n)$"
        assert asked["price"] == {"anyOf": [number, {"type": "string", "pattern": pattern}]}
        told = document["components"]["schemas"]["Toy"]["properties"]
        assert number | {"format": "decimal"} in told["price"]["anyOf"]
        assert told["weight"] == {"type": "number", "format": "decimal"}, "without bounds"
        assert told["seenAt"]["items"] == {"type": "string", "format": "date-time"}
        assert told["soldAt"]["anyOf"] == [{"type": "string", "format": "date-time"}, {"type": "null"}]
        assert asked["seenAt"] == {"type": "string", "format": "date-time"}
        assert "description" not in document["components"]["schemas"]["Toy"]


class TestWords:
    def test_are_those_of_the_struct_before_those_of_the_name(self) -> None:
        table: dict[str, Any] = {
            "tags": {"Toys": "To play with."},
            "fields": {"price": ["What it costs", 5], "name": "What it is called"},
            "structs": {"Bid": {"price": "What is offered"}},
        }
        words = Vocabulary.of(table)
        assert words.find("price") == words.find("price", "Toy") == FieldDescription("What it costs", 5)
        assert words.find("price", "Bid") == FieldDescription("What is offered", FROM_TYPE)
        assert words.find("name", "Bid") == FieldDescription("What it is called", FROM_TYPE)
        assert (words.find("weight"), words.tags) == (None, {"Toys": "To play with."})

    def test_and_examples_stand_at_every_field_and_body(self) -> None:
        document = describe(declared(make_toy, list_toys), WORDS, servers=SERVERS)
        add_descriptions(document, WORDS)
        assert document["tags"] == [{"name": "Toys", "description": "To play with."}]
        schemas = document["components"]["schemas"]
        assert {name: field.get("description") for name, field in schemas["Toy"]["properties"].items()} == {
            "id": None,
            "price": "What it costs",
            "weight": None,
            "seenAt": "When it was seen",
            "soldAt": None,
        }
        assert schemas["NewToy"]["properties"]["price"].get("description") is None
        assert schemas["Problem"]["properties"]["title"] == {"type": "string"}
        made = document["paths"]["/toys"]["post"]
        assert made["requestBody"]["content"][JSON]["example"]["name"] == "Top"
        assert "seenAt" not in made["requestBody"]["content"][JSON]["example"], "a field that examples leave out"
        toy = {
            "id": "01890a5d-ac96-774b-bcce-b302099a8057",
            "price": 12.5,
            "weight": 1,
            "seenAt": ["2026-03-29T00:00:00Z"],
            "soldAt": None,
        }
        assert made["responses"]["201"]["content"][JSON]["example"] == toy
        assert document["paths"]["/toys"]["get"]["responses"]["200"]["content"][JSON]["example"] == [toy]

    def test_that_nothing_refers_to_go(self) -> None:
        def refer(name: str) -> dict[str, str]:
            return {"$ref": f"#/components/schemas/{name}"}

        document: dict[str, Any] = {
            "paths": {"/a": {"get": {"responses": {"200": {"schema": refer("A")}}}}},
            "components": {
                "schemas": {
                    "A": {"items": [refer("B")]},
                    "B": {"properties": {"a": refer("A")}},
                    "C": {"properties": {"d": refer("D")}},
                    "D": {},
                    "E": {},
                },
                "responses": {"Refused": {"content": refer("E")}},
            },
        }
        drop_unused(document)
        assert list(document["components"]["schemas"]) == ["A", "B", "E"]


class TestAnExample:
    @pytest.mark.parametrize(
        ("schema", "made"),
        [
            ({"type": "string"}, "text"),
            ({"type": "number"}, 1),
            ({"type": "boolean"}, True),
            ({"type": "string", "format": "date"}, "2026-03-29"),
            ({"type": "string", "format": "duration"}, "PT1H"),
            ({"type": "string", "enum": ["b", "a"]}, "b"),
            ({"type": "string", "const": "c"}, "c"),
            ({"type": "integer", "default": 7}, 7),
            ({"type": "string", "examples": ["x", "y"]}, "x"),
            ({"type": "array", "items": {"type": "integer"}}, [1]),
            ({"type": "object", "additionalProperties": {"type": "integer"}}, {"name": 1}),
            ({"type": "object"}, {}),
            ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
            ({"oneOf": [{"type": "string", "enum": ["z"]}, {"type": "integer"}]}, "z"),
            ({"type": "null"}, None),
            ({"$ref": "#/components/schemas/Word"}, "word"),
        ],
    )
    def test_is_made_from_the_schema_where_no_word_has_one(self, schema: dict[str, Any], made: Any) -> None:
        examples = Examples({"Word": {"type": "string", "enum": ["word"]}}, Vocabulary())
        assert examples.make(schema) == made

    def test_is_that_of_the_word_where_it_fits(self) -> None:
        words = Vocabulary(
            {
                "count": FieldDescription("How many", 5),
                "kind": FieldDescription("Which kind", "b"),
                "kindID": FieldDescription("Of one", "one"),
                "note": FieldDescription("Any", None),
            }
        )
        schemas = {"Kind": {"enum": ["a", "b"]}, "Other": {"enum": ["c"]}, "Whole": {"properties": {}}}
        examples = Examples(schemas, words)
        for schema, name, made in (
            ({"type": "integer"}, "count", 5),
            ({"type": "number"}, "count", 5),
            ({"type": "string"}, "count", "text"),
            ({"type": "boolean"}, "count", True),
            ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "count", 5),
            ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "count", None),
            ({"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}}]}, "counts", [1]),
            ({"$ref": "#/components/schemas/Kind"}, "kind", "b"),
            ({"$ref": "#/components/schemas/Other"}, "kind", "c"),
            ({"$ref": "#/components/schemas/Whole"}, "kind", {}),
            ({"type": "array", "items": {"type": "string"}}, "kindIDs", ["one"]),
            ({"type": "string", "enum": ["c", "b"]}, "kind", "b"),
        ):
            assert examples.make(schema, name) == made, (schema, name)
        struct = {
            "properties": {"count": {"type": "integer"}, "note": {"type": "string"}, "kept": {"type": "string"}},
            "required": ["count"],
        }
        assert examples.make(struct) == {"count": 5, "kept": "text"}
        assert examples.make({**struct, "required": ["note"]})["note"] == "text"
        assert msgspec.json.encode(examples.make(struct)) == b'{"count":5,"kept":"text"}'
