"""Arguments become requests by rule, without a network."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom_client import JSON, UNSET, Client, RawResponse
from gridloom_client.calls import Response
from gridloom_client.client import _any_request
from gridloom_client.inputs import TotpRemoval
from gridloom_client.wire import encode_body, fill_path, parameter_name, query_string, wire_name

pytestmark = pytest.mark.pure

ASSET = UUID("01890000-0000-7000-8000-000000000001")
client = Client("http://gridloom.test")


def fields(content: bytes | None) -> object:
    assert content is not None
    return json.loads(content)


class TestRequest:
    def test_puts_identifiers_into_the_path_and_the_rest_of_a_get_into_the_query(self):
        request = client.physical_assets.bids_without_result.request(
            ASSET, product_keys=["2026-03-29_NEGPOS_00_04", "2026-03-29_POS_001"]
        )
        assert request.method == "GET"
        assert request.target == (
            f"/physical-assets/{ASSET}/ancillary/bids-without-result"
            "?product-keys=2026-03-29_NEGPOS_00_04,2026-03-29_POS_001"
        )
        assert request.content is None
        assert request.headers == {"Accept": "application/json"}

    def test_sends_times_in_utc(self):
        berlin = timezone(timedelta(hours=2))
        request = client.revenue.of_fleet.request(
            ASSET, start=datetime(2026, 7, 1, tzinfo=berlin), end=datetime(2026, 7, 1, tzinfo=UTC), resolution="daily"
        )
        assert request.target.endswith("?start=2026-06-30T22:00:00Z&end=2026-07-01T00:00:00Z&resolution=daily")

    def test_refuses_times_without_an_offset(self):
        with pytest.raises(ValueError, match="no offset"):
            client.physical_assets.schedule.request(ASSET, start=datetime(2026, 1, 1))  # noqa: DTZ001

    def test_puts_the_fields_of_a_post_into_a_json_object_under_their_wire_names(self):
        request = client.fleets.create.request(name="North", organisation_id=ASSET, physical_asset_ids=[ASSET])
        assert fields(request.content) == {
            "name": "North",
            "organisationID": str(ASSET),
            "physicalAssetIDs": [str(ASSET)],
        }
        assert request.headers["Content-Type"] == "application/json"

    def test_leaves_out_what_is_not_given(self):
        assert fields(client.webhooks.create.request(url="https://a.test", types=["bid.placed"]).content) == {
            "url": "https://a.test",
            "types": ["bid.placed"],
        }

    def test_keeps_prices_exact(self):
        price = Decimal("9999999.10")
        assert client.auctions.bid.request(ASSET, price=price).content == b'{"price":9999999.10}'
        assert client.auctions.bid.request(ASSET, price="0.10").content == b'{"price":"0.10"}'

    def test_takes_a_document_in_whatever_type_it_has(self):
        assert client.physical_assets.notification_document.request(ASSET, ASSET).headers["Accept"] == "*/*"
        assert client.physical_assets.notification.request(ASSET, ASSET).headers["Accept"] == JSON

    def test_of_a_delete_may_have_a_body(self):
        sent = client.auth.remove_totp.request(TotpRemoval(code="123456"))
        assert (sent.method, sent.headers["Content-Type"]) == ("DELETE", JSON)
        assert fields(sent.content) == {"code": "123456"}

    def test_of_a_patch_tells_keeping_from_clearing(self):
        assert fields(
            client.physical_assets.update.request(ASSET, name="A", eic_code=None, fleet_id=UNSET).content
        ) == {
            "name": "A",
            "eicCode": None,
        }

    def test_spells_the_refresh_token_as_oauth_does(self):
        assert fields(client.auth.refresh.request(refresh_token="r").content) == {"refresh_token": "r"}

    def test_carries_a_new_idempotency_key_on_every_post(self):
        keys = {client.auctions.bid.request(ASSET, price="1").headers["Idempotency-Key"] for _ in range(3)}
        assert len(keys) == 3

    def test_carries_the_callers_own_idempotency_key(self):
        request = client.auctions.bid.request(ASSET, price="1", idempotency_key="mine")
        assert request.headers["Idempotency-Key"] == "mine"

    def test_carries_the_etag_to_match(self):
        request = client.fleets.delete.request(ASSET, if_match='"3"')
        assert request.headers["If-Match"] == '"3"'
        assert request.target == f"/fleets/{ASSET}"

    def test_sends_a_file_as_it_is(self):
        request = client.settlements.add_fcr.request(b"a,b\n", content_type="text/csv")
        assert (request.content, request.headers["Content-Type"]) == (b"a,b\n", "text/csv")

    def test_takes_rows_from_any_iterable(self):
        rows = ({"assetID": ASSET, "time": datetime(2026, 1, 1, tzinfo=UTC), "volume": 1.5} for _ in range(2))
        row = {"assetID": str(ASSET), "time": "2026-01-01T00:00:00Z", "volume": 1.5}
        assert fields(client.settlements.add_net_off.request(rows).content) == [row, row]
        assert encode_body({"a": 1}.keys()) == b'["a"]'
        assert (encode_body({"a": 1}), encode_body("a"), encode_body([1])) == (b'{"a":1}', b'"a"', b"[1]")

    def test_has_no_body_when_there_is_nothing_to_say(self):
        request = client.sandbox.reset.request()
        assert request.content is None
        assert "Content-Type" not in request.headers

    def test_complains_about_a_missing_argument_as_python_does(self):
        with pytest.raises(TypeError, match="price"):
            client.auctions.bid.request(ASSET)  # type: ignore[call-arg]

    def test_of_any_call_says_what_its_body_is_where_it_has_one(self):
        made = _any_request("post", "auctions", {"a": 1}, None)
        assert (made.method, made.target, made.content) == ("POST", "/auctions", b'{"a":1}')
        assert (made.headers["Content-Type"], made.headers["Accept"]) == (JSON, JSON)
        assert made.headers["Idempotency-Key"]
        again = _any_request("POST", "/auctions", {"a": 1}, {"Idempotency-Key": "mine"})
        assert again.headers["Idempotency-Key"] == "mine", "a key of the caller's own makes it the same request"
        raw = _any_request("PUT", "/x", b"a,b", {"Content-Type": "text/csv", "Accept": "*/*"})
        assert (raw.content, raw.headers) == (b"a,b", {"Content-Type": "text/csv", "Accept": "*/*"})
        bare = _any_request("GET", "/x", None, None)
        assert (bare.content, bare.headers) == (None, {"Accept": JSON})


class TestRepeatability:
    def test_holds_for_reads_keyed_posts_and_puts(self):
        assert client.fleets.get.request(ASSET).is_repeatable
        assert client.auctions.bid.request(ASSET, price="1").is_repeatable
        assert client.physical_assets.set_schedule.request(ASSET, schedule=[]).is_repeatable

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
    @pytest.mark.parametrize(
        ("python", "wire"),
        [
            ("physical_asset_id", "physicalAssetID"),
            ("virtual_asset_ids", "virtualAssetIDs"),
            ("final_soc_tolerance", "finalSoCTolerance"),
            ("initial_soc", "initialSoC"),
            ("name", "name"),
        ],
    )
    def test_follow_the_contract_on_the_wire(self, python: str, wire: str):
        assert wire_name(python) == wire

    def test_are_kebab_case_in_queries(self):
        assert parameter_name("product_keys") == "product-keys"

    def test_in_queries_carry_the_value_of_a_choice(self):
        choice = Enum("choice", {"FCR": "fcr", "AFRR": "afrr"})
        assert query_string({"kind": choice.FCR, "kinds": [choice.FCR, choice.AFRR]}) == "?kind=fcr&kinds=fcr,afrr"

    def test_in_queries_carry_flags_days_and_nothing(self):
        assert query_string({"a": True, "b": date(2026, 3, 29), "c": None, "d": "x y&z"}) == (
            "?a=true&b=2026-03-29&d=x%20y%26z"
        )
        assert query_string({"a": None}) == ""
        assert query_string({"a": False, "n": 0}) == "?a=false&n=0"


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
