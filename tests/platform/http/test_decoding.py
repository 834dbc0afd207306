"""Bodies and queries of every shape are decoded or refused alike, however deep, long or mixed they are."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pytest
from msgspec import UNSET, UnsetType

from gridloom.kernel.money import Euro
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.shares import KIBIBYTE, MEBIBYTE
from gridloom.platform.http import RequestBody, to_json
from gridloom.platform.http.decode.body import BodyBudget
from gridloom.platform.http.decode.json_decoder import Decoder
from gridloom.platform.http.decode.parameters import ParameterDecoder, split_query
from gridloom.platform.http.decode.validation_errors import (
    MAX_ERRORS_LISTED,
    MAX_VALUES,
    collect_errors,
)
from gridloom.platform.http.fields import Instant, QueryParameters, pattern_meta

pytestmark = pytest.mark.pure

Price = Annotated[Decimal, Euro(Decimal(0), Decimal(100))]


class Unit(Enum):
    KILOWATT = "kW"
    MEGAWATT = "MW"


class Leg(RequestBody):
    price: Price
    valid_from: Instant | None = None


class Code(RequestBody):
    code: Annotated[str, pattern_meta("^[A-Z]+$", "a code in capitals")]


class Deal(RequestBody):
    legs: tuple[Leg, ...] = ()
    codes: dict[str, Code] = {}
    unit: Unit = Unit.KILOWATT
    ended_at: Instant | UnsetType | None = UNSET


class First(RequestBody, tag="first"):
    name: str


class Second(RequestBody, tag="second"):
    text: str
    price: Decimal = Decimal(0)


class Asked(QueryParameters):
    day: str
    count: int = 0

    def __post_init__(self) -> None:
        if self.count > 9:
            raise ValueError("count is too large for the day")


def errors_of(type: Any, body: Any) -> list[tuple[str, str]]:
    with pytest.raises(BadRequest) as refusal:
        Decoder(type)(body if isinstance(body, bytes) else to_json(body))
    return [(error.pointer, error.detail) for error in refusal.value.errors]


ODD = "Expected a plain decimal number, such as 1250.50."


class TestABody:
    def test_has_plain_decimals_wherever_its_type_has_any(self):
        for type, body, pointer in (
            (Leg, {"price": "1e1"}, "/price"),
            (Deal, {"legs": [{"price": 1}, {"price": " 5"}]}, "/legs/1/price"),
            (list[Decimal], ["1.5", "+1"], "/1"),
            (Decimal | None, "1_0", ""),
        ):
            assert errors_of(type, body) == [(pointer, ODD)]
        assert Decoder(Leg)(b'{"price":"12.5"}').price == Decimal("12.50")

    def test_that_is_too_deep_is_no_json(self):
        assert errors_of(Any, b"[" * 100_000) == [("", "not JSON")]

    def test_names_faults_in_lists_of_any_kind_in_mappings_and_in_choices(self):
        legs = [{"price": 1, "validFrom": None}, {"price": 101, "validFrom": "2026-01-01"}]
        body = {"legs": legs, "codes": {"a": {"code": "A"}, "b": {"code": "b"}}, "unit": "GW", "endedAt": None}
        assert errors_of(Deal, body) == [
            ("/legs/1/price", "Expected at most 100 EUR."),
            ("/legs/1/validFrom", "Expected an instant with an offset, such as 2026-03-29T00:00:00Z"),
            ("/codes/b/code", "Expected a code in capitals"),
            ("/unit", "Unknown value 'GW'; one of kW, MW"),
        ]
        assert errors_of(Leg, {"price": 1, "validFrom": "1969-12-31T00:00:00Z"}) == [
            ("/validFrom", "a timestamp between the years 1970 and 2200 is expected")
        ]

    def test_has_no_forbidden_text_in_any_of_several_kinds_however_long_it_is(self):
        kinds = First | Second
        for body, pointer in (
            ({"type": "first", "name": "a\x00"}, "/name"),
            ({"type": "second", "text": "a\x00"}, "/text"),
            ({"type": "second", "text": "a", "price": "1e1"}, "/price"),
        ):
            found = [error.pointer for error in collect_errors(body, kinds, texts_only=True)]
            assert set(found) == {pointer}
        words = ["a"] * (MAX_VALUES + 10)
        assert errors_of(list[str], [*words, "\x7f"]) == [
            (f"/{len(words)}", "contains a control character, U+007F"),
        ]


class TestTheRoomForABody:
    def test_is_there_for_a_single_one_that_grows_beyond_it(self):
        with BodyBudget(MEBIBYTE).hold("a") as body:
            for size in (KIBIBYTE * 600, KIBIBYTE * 1100, KIBIBYTE * 1200):
                body.grow_to(size)


class TestAQuery:
    def errors_of(self, query: bytes) -> list[tuple[str, str]]:
        with pytest.raises(BadRequest) as refusal:
            ParameterDecoder(Asked)(split_query(query))
        return [(error.pointer, error.detail) for error in refusal.value.errors]

    def test_names_so_many_faults_and_has_so_many_parameters_at_most(self):
        faults = self.errors_of("&".join(f"p{number}=" for number in range(99)).encode())
        assert [pointer for pointer, _ in faults] == [f"query:p{number}" for number in range(MAX_ERRORS_LISTED)]
        assert len(split_query(b"&".join([b"a=1"] * 100))) == 100
        with pytest.raises(BadRequest, match="not a list"):
            split_query(b"&".join([b"a=1"] * 101))

    def test_that_does_not_fit_together_is_told_why(self):
        with pytest.raises(BadRequest, match="count is too large for the day"):
            ParameterDecoder(Asked)([("day", "today"), ("count", "10")])
        assert ParameterDecoder(Asked)([("day", "today"), ("count", "9")]) == Asked(day="today", count=9)
