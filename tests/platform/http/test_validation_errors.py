"""A refused body is told all that is wrong with it at once."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType

from gridloom.kernel.money import Euro
from gridloom.kernel.problem import BadRequest
from gridloom.platform.http import RequestBody, to_json
from gridloom.platform.http.decode.json_decoder import Decoder
from gridloom.platform.http.decode.parameters import ParameterDecoder, parse_parameter
from gridloom.platform.http.decode.validation_errors import MAX_VALUES, collect_errors
from gridloom.platform.http.fields import Instant, QueryParameters

pytestmark = pytest.mark.pure


class Side(Enum):
    BUY = "BUY"
    SELL = "SELL"


class Row(RequestBody):
    time: Instant
    side: Side
    price: Annotated[Decimal, Euro(Decimal(0), Decimal(100))]
    volume: Annotated[float, Meta(gt=0)] | UnsetType | None = UNSET


class Order(RequestBody):
    id: UUID
    rows: Annotated[list[Row], Meta(max_length=100)]
    remarks: dict[str, str] = {}


def refusal_of(body: Any) -> BadRequest:
    with pytest.raises(BadRequest) as refusal:
        Decoder(Order)(to_json(body))
    return refusal.value


GOOD = {"time": "2026-01-01T00:00:00Z", "side": "BUY", "price": "1.50", "volume": 2}
ID = "01890a5d-ac96-774b-bcce-b302099a8057"


class TestARefusedBody:
    def test_names_every_fault_with_its_place(self):
        rows = [GOOD, {**GOOD, "side": "HOLD", "price": 101}, {"time": "2026-01-01T00:00", "side": "SELL", "colour": 1}]
        refusal = refusal_of({"id": "seven", "rows": rows, "remarks": {"a/b": 3}})
        assert [error.pointer for error in refusal.errors] == [
            *("/id", "/rows/1/side", "/rows/1/price", "/rows/2/time", "/rows/2/colour", "/rows/2/price"),
            "/remarks/a~1b",
        ]
        assert "6 more" in refusal.detail

    def test_is_validated_in_bounded_time_however_long_it_is(self):
        rows = [GOOD] * (2 * MAX_VALUES) + [{}]
        refusal = refusal_of({"id": ID, "rows": rows, "remarks": 7})
        assert [error.pointer for error in refusal.errors] == ["/rows/10000/time"]

    def test_shortens_a_name_as_long_as_the_body(self):
        assert len(refusal_of({"x" * 1_000_000: 1}).errors[0].pointer) < 200

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["id", "rows", "time", "side", "price", "volume", "x"]), inner)
            ),
        )
    )
    def test_has_a_fault_whenever_the_decoder_refuses_and_none_otherwise(self, body: Any):
        try:
            Decoder(Order)(to_json(body))
            refused = False
        except BadRequest:
            refused = True
        assert bool(collect_errors(body, Order)) == refused


class Parcel(RequestBody, tag="PARCEL", tag_field="kind"):
    price: Annotated[Decimal, Euro(Decimal(0), Decimal(5))]
    note: str | None = None


class Pallet(RequestBody, tag="PALLET", tag_field="kind"):
    price: Annotated[Decimal, Euro(Decimal(5), Decimal(100))]
    weight: float
    note: str | None = None


class TestTextsOfABodyThatWasRead:
    """A body of one of several kinds is looked through for texts alone: it need not be right as another kind."""

    def test_may_be_beside_what_another_kind_would_refuse(self):
        for body in ({"kind": "PARCEL", "price": "3"}, {"kind": "PALLET", "price": 50, "weight": 1.5}):
            assert collect_errors({**body, "note": "a\tb"}, Parcel | Pallet, texts_only=True) == []

    def test_are_refused_wherever_they_stand(self):
        body = {"kind": "PALLET", "price": 50, "weight": 1.5, "note": "a\u202eb"}
        assert {error.pointer for error in collect_errors(body, Parcel | Pallet, texts_only=True)} == {"/note"}
        remarks: Any = {"deep": [{"x": "fine"}, {"x": "\x07"}]}
        assert [error.pointer for error in collect_errors(remarks, Any, texts_only=True)] == ["/deep/1/x"]
        assert [error.pointer for error in collect_errors({"a\x07": 1}, dict[str, int], texts_only=True)] == [""]


class Query(QueryParameters):
    start: Instant
    limit: int = 3
    side: Side | None = None


class TestARefusedQuery:
    def test_names_the_choices_of_every_enumeration(self):
        class Choosing(QueryParameters):
            side: Annotated[Side | None, Meta(description="Optional and described")] = None
            sides: tuple[Side, ...] | None = None
            order: Literal["asc", "desc"] = "asc"

        with pytest.raises(BadRequest) as refusal:
            ParameterDecoder(Choosing)([("side", "HOLD"), ("sides", "BUY,HOLD"), ("order", "up")])
        assert [error.detail.partition("; ")[2] for error in refusal.value.errors] == [
            *["one of BUY, SELL"] * 2,
            "one of asc, desc",
        ]

    def test_is_read_where_nothing_is_at_fault(self):
        query = ParameterDecoder(Query)([("start", "2026-01-01T01:00:00+01:00"), ("limit", "5")])
        assert query == Query(start=datetime.fromisoformat("2026-01-01T00:00:00Z"), limit=5)

    @pytest.mark.parametrize(
        ("text", "hint", "value"),
        [
            ("true", bool, True),
            ("false", bool, False),
            ("-5", int, -5),
            ("-2.5", float, -2.5),
            ("5", float, 5.0),
            ("5", str, "5"),
            ("a, b", tuple[str, ...], ("a", "b")),
            ("2026-03-29", date, date(2026, 3, 29)),
        ],
    )
    def test_is_read_as_its_type(self, text: str, hint: Any, value: Any):
        read = parse_parameter("query", "x", text, hint)
        assert (read, type(read)) == (value, type(value))
