"""Arguments become requests by rule, without a network."""

import json
from datetime import UTC, datetime
from enum import Enum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom_client import Client, RawResponse
from gridloom_client.calls import Response
from gridloom_client.wire import encode_body, fill_path, query_string

pytestmark = pytest.mark.pure

ASSET = UUID("01890000-0000-7000-8000-000000000001")
client = Client("http://gridloom.test")


def fields(content: bytes | None) -> object:
    assert content is not None
    return json.loads(content)


class TestRequest:
    def test_refuses_times_without_an_offset(self):
        with pytest.raises(ValueError, match="no offset"):
            client.physical_assets.schedule.request(ASSET, start=datetime(2026, 1, 1))  # noqa: DTZ001

    def test_takes_rows_from_any_iterable(self):
        rows = ({"assetID": ASSET, "time": datetime(2026, 1, 1, tzinfo=UTC), "volume": 1.5} for _ in range(2))
        row = {"assetID": str(ASSET), "time": "2026-01-01T00:00:00Z", "volume": 1.5}
        assert fields(client.settlements.add_net_off.request(rows).content) == [row, row]
        assert encode_body({"a": 1}.keys()) == b'["a"]'
        assert (encode_body({"a": 1}), encode_body("a"), encode_body([1])) == (b'{"a":1}', b'"a"', b"[1]")

    def test_complains_about_a_missing_argument_as_python_does(self):
        with pytest.raises(TypeError, match="price"):
            client.auctions.bid.request(ASSET)  # type: ignore[call-arg]


class TestRepeatability:
    def test_does_not_hold_where_the_second_attempt_would_meet_the_first(self):
        assert not client.fleets.delete.request(ASSET).is_repeatable
        assert not client.fleets.update.request(ASSET, name="A").is_repeatable
        assert not client.physical_assets.set_schedule.request(ASSET, schedule=[], if_match='"1"').is_repeatable


class TestPath:
    @given(st.text(min_size=1))
    def test_is_never_left_by_a_value(self, value: str):
        try:
            path = fill_path("/fleets/{fleetID}/x", {"fleetID": value})
        except (ValueError, UnicodeEncodeError):
            return
        assert path.count("/") == 3
        assert "?" not in path
        assert "#" not in path

    @pytest.mark.parametrize("value", ["", ".", ".."])
    def test_has_no_segment_that_means_another_place(self, value: str):
        with pytest.raises(ValueError, match="fleetID"):
            fill_path("/fleets/{fleetID}", {"fleetID": value})


class TestNames:
    def test_in_queries_carry_the_value_of_a_choice(self):
        choice = Enum("choice", {"FCR": "fcr", "AFRR": "afrr"})
        assert query_string({"kind": choice.FCR, "kinds": [choice.FCR, choice.AFRR]}) == "?kind=fcr&kinds=fcr,afrr"


class TestAnAnswer:
    def test_says_where_the_next_page_starts_and_whether_it_was_given_before(self):
        headers = {"link": '</organisations/1/usage?cursor=a%3Db&limit=2>; rel="next"', "idempotency-replayed": "true"}
        told, silent = Response(None, 200, headers), Response(None, 200, {})
        assert (told.next_cursor, told.is_replayed) == ("a=b", True)
        assert (silent.next_cursor, silent.is_replayed, silent.etag) == (None, False, None)


class TestNextPage:
    @pytest.mark.parametrize(
        ("link", "query"),
        [
            ('</auctions?cursor=abc&limit=2>; rel="next"', "?cursor=abc&limit=2"),
            ('<https://elsewhere.test/auctions?cursor=abc>; rel="next"', "?cursor=abc"),
            ('</a?b=1>; rel="prev", </a?b=2>; rel="next"', "?b=2"),
            ('</a?b=1>; rel="prev"', None),
            ("", None),
        ],
    )
    def test_is_read_from_the_link_header_without_its_host(self, link: str, query: str | None):
        assert RawResponse(200, {"link": link}).next_query == query
