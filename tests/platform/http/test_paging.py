"""Pages, and forged cursors."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gridloom.kernel.problem import BadRequest
from gridloom.platform.http.paging import Paging, decode_cursor, encode_cursor, next_link

pytestmark = pytest.mark.pure


class Place(msgspec.Struct, array_like=True):
    moment: datetime
    number: int


class Position(msgspec.Struct):
    number: int


class TestACursor:
    def test_is_one_in_its_own_letters_and_no_deeper_than_one_can_be(self) -> None:
        cursor = encode_cursor(7)
        deep = base64.urlsafe_b64encode(b'{"number":7,"more":' + b"[" * 1450).decode()
        forgeries: tuple[tuple[str, Any], ...] = ((f"{cursor}!!!!", int), (f"*{cursor}", int), (deep, Position))
        for forged, kind in forgeries:
            with pytest.raises(BadRequest) as refusal:
                decode_cursor(forged, kind)
            assert refusal.value.errors[0].pointer == "query:cursor"

    @pytest.mark.parametrize(
        ("kind", "place"),
        [
            (int, 2**63),
            (int, -(2**63)),
            (tuple[Decimal, int], ("1e999", 1)),
            (tuple[Decimal, int], ("NaN", 1)),
            (tuple[datetime, UUID], ("9999-12-31T23:59:59.999999-12:00", UUID(int=1))),
            (tuple[datetime, UUID], ("0001-01-01T00:00:00+12:00", UUID(int=1))),
            (tuple[datetime, UUID], ("2026-01-01T00:00:00", UUID(int=1))),
            (Place, ["2026-01-01T00:00:00Z", 2**64]),
            (tuple[date, int], ("9999-12-31", 1)),
            (str, "a\0b"),
        ],
    )
    def test_that_holds_what_no_column_can_is_refused(self, kind: Any, place: Any) -> None:
        with pytest.raises(BadRequest) as refusal:
            decode_cursor(encode_cursor(place), kind)
        assert refusal.value.errors[0].pointer == "query:cursor"

    def test_holds_any_place_that_was_given_out(self) -> None:
        for kind, place in (
            (int, 2**40),
            (tuple[Decimal, int], (Decimal("10000000.00"), 7)),
            (tuple[datetime, UUID], (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=5))),
        ):
            assert decode_cursor(encode_cursor(place), kind) == place


class TestAPage:
    @pytest.mark.parametrize(
        ("rows", "kept", "cursor"), [(0, 0, None), (1, 1, None), (2, 2, None), (3, 2, 1), (9, 2, 1)]
    )
    def test_leads_to_another_only_where_something_is_left(self, rows: int, kept: int, cursor: int | None) -> None:
        page = Paging(limit=2).page(range(rows), lambda row: row)
        assert list(page.items) == list(range(kept))
        assert (None if page.next_cursor is None else decode_cursor(page.next_cursor, int)) == cursor

    def test_leads_on_with_the_same_filters_and_one_cursor(self) -> None:
        link = next_link("/audit-log?resource=%2Ffleets&cursor=old&limit=2", "new")
        assert link == '</audit-log?resource=%2Ffleets&limit=2&cursor=new>; rel="next"'
