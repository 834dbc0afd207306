"""A text of the wrong form is answered with what is expected and an example, never with a regular expression."""

import ast
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import pytest
from msgspec import Meta
from msgspec.json import encode as to_json

import gridloom
from gridloom.app import create_edge
from gridloom.kernel.figures import Figure
from gridloom.kernel.problem import BadRequest
from gridloom.physical_assets.metadata.model import BODY_TYPES
from gridloom.platform.http.decode.json_decoder import decoder_of
from gridloom.platform.http.decode.validation_errors import expectations_of
from gridloom.settings import Settings

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
        ("value", "hint", "expected"),
        [
            (2, Annotated[float, Meta(le=1)], "Expected a number of at most 1"),
            (-1, Annotated[float, Meta(ge=0)], "Expected a number of at least 0"),
            (0, Annotated[float, Meta(gt=0)], "Expected a number above 0"),
            (3, Annotated[float, Meta(lt=3)], "Expected a number below 3"),
            (1, Annotated[float, Meta(le=0.25)], "Expected a number of at most 0.25"),
            (6, Annotated[int, Meta(multiple_of=5)], "Expected a whole number that's a multiple of 5"),
            ("", Annotated[str, Meta(min_length=1)], "Expected a text of at least 1 character"),
            ("abc", Annotated[str, Meta(max_length=2)], "Expected a text of at most 2 characters"),
            ([], Annotated[list[int], Meta(min_length=2)], "Expected a list of at least 2 entries"),
            ([1], tuple[int, int], "Expected a list of 2 entries"),
            ({"a": 1}, Annotated[dict[str, int], Meta(max_length=0)], "Expected an object of at most 0 fields"),
            ("ten", float | None, "Expected a number or null, not a text"),
            (1.5, int, "Expected a number without decimals"),
            (True, int | str, "Expected a whole number or a text, not true or false"),
            ([], dict[str, int], "Expected an object, not a list"),
            (1, datetime, "Expected an instant, not a whole number"),
            (1, date, "Expected a day, not a whole number"),
            (1, UUID, "Expected an id, not a whole number"),
            ({}, Decimal, "Expected a number, not an object"),
            ("x", timedelta, "Expected a duration, such as PT15M"),
            (1, Literal["a", "b"], "Expected a text, not a whole number; one of a, b"),
        ],
    )
    def test_names_kinds_bounds_and_lengths_in_words(self, value, hint, expected):
        with pytest.raises(BadRequest) as found:
            decoder_of(hint)(to_json(value))
        assert found.value.errors[0].detail == expected
        assert not re.search("[`<>]", found.value.detail)

    def test_names_a_bound_as_a_figure_in_the_fields_own_unit(self):
        with pytest.raises(BadRequest) as found:
            decoder_of(Annotated[float, Meta(le=0.25)])(to_json(1))
        assert found.value.errors[0].figures == (Figure("0.25", 0.25, ""),)
