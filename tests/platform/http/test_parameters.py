"""Queries into declared types, and numbers of JSON that are too long for any."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

import pytest
from msgspec import Meta

from gridloom.kernel.problem import BadRequest
from gridloom.platform.http.decode.json_decoder import MAX_NUMBER, Decoder, reject_long_numbers
from gridloom.platform.http.decode.parameters import parameter_decoder_of, split_query
from gridloom.platform.http.fields import Instant, QueryParameters
from gridloom.platform.http.long_bodies.slices import SLICE_BYTES

pytestmark = pytest.mark.pure


class Filter(QueryParameters):
    name: str
    limit: Annotated[int, Meta(ge=1, le=9)] = 5
    price: float | None = None
    is_open: bool = False
    ids: tuple[UUID, ...] = ()
    since: Instant | None = None
    day: date | None = None
    either: int | str | None = None


def read(query: bytes, struct: Any = Filter) -> Any:
    return parameter_decoder_of(struct)(split_query(query))


def errors_of(query: bytes) -> list[tuple[str, str]]:
    with pytest.raises(BadRequest) as refusal:
        read(query)
    return [(error.pointer, error.detail) for error in refusal.value.errors]


class TestAQuery:
    def test_is_read_as_the_types_that_are_declared(self) -> None:
        ids = UUID(int=1), UUID(int=2)
        query = f"name=a%20b&limit=9&price=-1.25&is-open=true&ids={ids[0]},%20{ids[1]}&day=2026-07-01&either=x"
        found = read(f"{query}&since=2026-07-01T02:00:00.1239%2B02:00".encode())
        since = datetime(2026, 7, 1, microsecond=123_000, tzinfo=UTC)
        assert found == Filter(
            name="a b",
            limit=9,
            price=-1.25,
            is_open=True,
            ids=ids,
            since=since,
            day=date(2026, 7, 1),
            either="x",
        )
        assert found.since.tzinfo is UTC
        assert read(b"name=&is-open=false&price=3") == Filter(name="", price=3.0)

    @pytest.mark.parametrize(
        ("text", "instant"),
        [
            ("1782864000123", datetime(2026, 7, 1, microsecond=123_000, tzinfo=UTC)),
            ("946684800000", datetime(2000, 1, 1, tzinfo=UTC)),
            ("7258118399999", datetime(2199, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
            *((text, None) for text in ("946684799999", "7258118400000", "1782864000", "1782864000123000", "9" * 400)),
            *((text, None) for text in ("-1782864000123", "1782864000123.5", "178286400012e1", "٣" * 13)),
        ],
    )
    def test_has_instants_as_milliseconds_too(self, text: str, instant: datetime | None) -> None:
        """A number of seconds or microseconds would be another year, and is refused."""
        query = f"name=a&since={quote(text)}".encode()
        if instant is None:
            assert [pointer for pointer, _ in errors_of(query)] == ["query:since"]
        else:
            assert read(query).since == instant

    def test_names_every_parameter_that_is_at_fault(self) -> None:
        found = errors_of(b"limit=10&limit=3&colour=red&price=1e3&is-open=yes&ids=&day=2200-01-01")
        assert [pointer.removeprefix("query:") for pointer, _ in found] == [
            *("limit", "colour", "price", "is-open", "ids", "day", "name"),
        ]
        said = dict(found)
        assert said["query:colour"] == "is not a parameter of this operation"
        assert (said["query:ids"], said["query:name"]) == ("is an empty list", "is missing")
        assert errors_of(b"name=a&name=b") == [("query:name", "is given twice")]
        assert [pointer for pointer, _ in errors_of(b"name=a%00b")] == ["query:name"]

    @pytest.mark.parametrize("query", [b"name", b"name=%FF", b"name=a&&b=c", "name=ä".encode()])
    def test_is_a_list_of_pairs_in_utf_8(self, query: bytes) -> None:
        with pytest.raises(BadRequest, match="not a list of name=value pairs"):
            read(query)


class TestALongNumber:
    LONGEST = b"1" * MAX_NUMBER

    @pytest.mark.parametrize("body", [b"[%s]", b'{"a": -%s}', b'["a", %s, "b"]', b" " * (SLICE_BYTES - 20) + b"[%s]"])
    def test_is_refused_from_the_first_character_too_many(self, body: bytes) -> None:
        reject_long_numbers(body.replace(b"%s", b"1" * (MAX_NUMBER - 1)))
        with pytest.raises(BadRequest, match="at most 40 characters"):
            reject_long_numbers(body.replace(b"%s", self.LONGEST + b"1"))
        with pytest.raises(BadRequest, match="at most 40 characters"):
            Decoder(Any)(body.replace(b"%s", self.LONGEST + b"1"))

    def test_in_a_text_is_no_number(self) -> None:
        text = self.LONGEST.decode() + "1"
        assert Decoder(list[str])(f'["{text}", "a \\" {text}"]'.encode()) == [text, f'a " {text}']

    def test_is_not_needed_for_a_body_that_is_missing(self) -> None:
        with pytest.raises(BadRequest, match="needed and none was sent"):
            Decoder(Any)(b"")


class TestTheDecodersOwnWords:
    def test_are_not_asked_for_where_a_body_is_known_to_be_right(self) -> None:
        assert Decoder(dict[str, int]).decode_trusted(b'{"a": 1}') == {"a": 1}
        assert Decoder(list[int]).decode_trusted(b"[1, 2, 3]") == [1, 2, 3]
