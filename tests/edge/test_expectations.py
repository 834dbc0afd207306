"""A text of the wrong form is answered with what is expected and an example, never with a regular expression."""

import ast
import re
from datetime import date, datetime
from pathlib import Path
from uuid import UUID

import pytest
from msgspec import Meta

import gridloom
from gridloom.app import create_edge
from gridloom.edge.decode.json_decoder import decoder_of
from gridloom.edge.decode.parameters import parse_parameter
from gridloom.edge.decode.validation_errors import describe_rejection, expectations_of
from gridloom.kernel.problem import BadRequest
from gridloom.physical_assets.metadata.model import BODY_TYPES, GridMetadata
from gridloom.settings import Settings
from gridloom.statements.views import MonthText, NewStatementRun

SOURCES = Path(gridloom.__file__).parent


def declared() -> dict[str, str]:
    """What every pattern of the interface expects."""
    found: dict[str, str] = {}
    for operation in create_edge(Settings(environment="sandbox")).operations:
        for hint in (operation.query, operation.body, *(each.type for each in operation.path_parameters)):
            found |= expectations_of(hint)
    for body in BODY_TYPES.values():
        found |= expectations_of(body)
    return found


class TestPattern:
    def test_has_an_example_that_it_accepts(self):
        patterns = declared()
        assert len(patterns) >= 13
        for pattern, expected in patterns.items():
            example = expected.partition("such as ")[2]
            assert re.search(ast.literal_eval(pattern), example), (pattern, expected)

    def test_is_declared_with_what_it_expects(self):
        bare = [
            (path.name, node.lineno)
            for path in SOURCES.rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == Meta.__name__
            and any(each.arg == "pattern" for each in node.keywords)
        ]
        assert [name for name, _ in bare] == ["fields.py"], bare


class TestRejection:
    @pytest.mark.parametrize(
        ("text", "hint", "expected"),
        [
            ("2026-13", MonthText, "Expected a month, such as 2026-09"),
            ("2026-13-01", date, "Expected a day, such as 2026-03-29"),
            ("today", datetime | None, "Expected an instant with an offset, such as 2026-03-29T00:00:00Z"),
            ("x", UUID, "Expected an id, such as 019a1c5e-7b20-7c4e-9f1a-2b3c4d5e6f70"),
        ],
    )
    def test_of_a_parameter_says_what_is_expected(self, text, hint, expected):
        with pytest.raises(BadRequest) as found:
            parse_parameter("query", "asked", text, hint)
        assert found.value.errors[0].detail == expected

    def test_of_a_body_says_it_at_every_field(self):
        with pytest.raises(BadRequest) as found:
            decoder_of(GridMetadata)(b'{"eicCode": "10Y", "marketLocation": "1"}')
        assert {each.pointer: each.detail for each in found.value.errors} == {
            "/eicCode": "Expected an EIC of 16 characters, such as 10Y1001A1001A82H",
            "/marketLocation": "Expected a market location of 11 digits, such as 51238696781",
        }

    def test_of_a_month_to_issue_says_it(self):
        with pytest.raises(BadRequest, match="/month: Expected a month, such as 2026-09"):
            decoder_of(NewStatementRun)(b'{"month": "2026-13"}')

    def test_of_a_pattern_that_the_type_does_not_have_stays_as_it_is(self):
        assert describe_rejection("Expected `str` matching regex 'a'", MonthText) == "Expected `str` matching regex 'a'"
