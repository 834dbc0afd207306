"""Bodies out: moments in whole seconds or milliseconds, everything else untouched."""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated

import pytest
from msgspec import UNSET, UnsetType

from gridloom.kernel.money import Euro
from gridloom.kernel.problem import BadRequest
from gridloom.platform.http import RequestBody, ResponseBody, to_json
from gridloom.platform.http.decode.json_decoder import Decoder
from gridloom.platform.http.decode.parameters import parse_parameter
from gridloom.platform.http.fields import Instant, accept_instant, parameter_name, wire_name
from gridloom.platform.http.response_fields import view_of

pytestmark = pytest.mark.pure

Price = Annotated[Decimal, Euro(Decimal(-100), Decimal(10_000))]
ODD_NUMBERS = ("1_0", " 5", "5 ", "+5", "1e3", "1E+2", "５", "٥", ".5", "5.", "0x10", "1,5", "", "5\n", "NaN", "--5")


class TestAnInstant:
    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("2026-01-01T00:00:00.123999+01:00", "2025-12-31T23:00:00.123+00:00"),
            ("2026-01-01T00:00:00.000999Z", "2026-01-01T00:00:00+00:00"),
            ("2026-01-01T00:00:00.250Z", "2026-01-01T00:00:00.250+00:00"),
        ],
    )
    def test_is_kept_in_utc_to_the_millisecond_below(self, given: str, kept: str) -> None:
        assert accept_instant(datetime.fromisoformat(given)) == datetime.fromisoformat(kept)
        decoded = Decoder(Timed)(to_json({"at": given, "until": given}))
        for instant in (decoded.at, decoded.until):
            assert (instant, instant.tzinfo) == (datetime.fromisoformat(kept), UTC)

    @pytest.mark.parametrize(
        ("text", "is_taken"),
        [
            *(("1970-01-01T00:00:00Z", True), ("1969-12-31T23:59:59.999Z", False)),
            *(("2199-12-31T23:59:59.999Z", True), ("2200-01-01T00:00:00Z", False)),
            ("1970-01-01T00:30:00+01:00", False),
        ],
    )
    def test_is_between_1970_and_2200_wherever_it_stands(self, text: str, is_taken: bool) -> None:
        for body in ({"at": text}, {"at": "2026-01-01T00:00:00Z", "until": text}):
            with nullcontext() if is_taken else pytest.raises(BadRequest, match="1970 and 2200"):
                Decoder(Timed)(to_json(body))

    @pytest.mark.parametrize(("day", "is_taken"), [("1970-01-01", True), ("1969-12-31", False), ("2200-01-01", False)])
    def test_so_is_a_day(self, day: str, is_taken: bool) -> None:
        with nullcontext() if is_taken else pytest.raises(BadRequest, match="1970 and 2200"):
            Decoder(Timed)(to_json({"at": "2026-01-01T00:00:00Z", "day": day}))


class Timed(RequestBody):
    at: Instant
    until: Instant | UnsetType | None = UNSET
    day: date | None = None


class Sample(RequestBody):
    name: str


class Offer(RequestBody):
    price: Price
    floor: Price | UnsetType | None = UNSET


class Offers(RequestBody):
    offers: list[Offer]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Battery:
    name: str
    rated_power_kw: float
    price_eur_mwh: Decimal | None
    temperature_c: float | None = None


class BatteryView(ResponseBody):
    name: str
    rated_power: float
    price: Decimal | UnsetType = UNSET
    owner: str = "platform"


class TestAView:
    def test_has_the_fields_of_the_value_without_their_units(self):
        assert view_of(BatteryView, Battery("Husum", 5.0, Decimal(3))) == BatteryView(
            name="Husum", rated_power=5.0, price=Decimal(3)
        )

    def test_leaves_out_what_is_none_where_it_may(self):
        assert to_json(view_of(BatteryView, Battery("Husum", 5.0, None))) == (
            b'{"name":"Husum","ratedPower":5.0,"owner":"platform"}'
        )

    def test_takes_what_is_computed_instead(self):
        assert view_of(BatteryView, Battery("Husum", 5.0, None), name="Elbe", owner="ada").name == "Elbe"

    def test_needs_every_field_that_has_no_default(self):
        with pytest.raises(TypeError, match="rated_power"):
            view_of(BatteryView, Offer(price=Decimal(1)), name="Husum")


class TestJSON:
    def test_shows_instants_in_whole_seconds_or_milliseconds(self):
        whole, fine = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)
        assert to_json([whole, fine]) == b'["2026-01-01T00:00:00Z","2026-01-01T00:00:00.123Z"]'

    def test_leaves_text_that_only_looks_a_little_like_an_instant(self):
        text = ["version 1.123456Z", ".123456Z", "12:00:00.123456Z"]
        assert to_json(text) == b'["version 1.123456Z",".123456Z","12:00:00.123456Z"]'

    def test_shows_what_is_finer_in_milliseconds(self):
        fine = datetime(2026, 1, 1, 0, 0, 0, 123_999, tzinfo=UTC)
        assert to_json([fine, fine.replace(microsecond=0)]) == b'["2026-01-01T00:00:00.123Z","2026-01-01T00:00:00Z"]'

    def test_shows_euros_as_numbers(self):
        assert to_json({"price": Decimal("12.50")}) == b'{"price":12.50}'


class TestARefusal:
    def test_does_not_repeat_a_name_as_long_as_the_body(self):
        with pytest.raises(BadRequest) as refusal:
            Decoder(Sample)(b'{"' + b"a" * 1_000_000 + b'":1}')
        assert len(refusal.value.detail) < 5_000


class TestAnAmountAsText:
    @pytest.mark.parametrize("text", ["0", "-0.5", "1250.50", "007", "10000"])
    def test_is_taken_as_people_write_it(self, text: str):
        assert Decoder(Offer)(b'{"price":"%s"}' % text.encode()).price == Decimal(text)

    @pytest.mark.parametrize("text", ODD_NUMBERS)
    def test_is_refused_where_only_a_programming_language_would_read_it(self, text: str):
        body = to_json({"remark": text, "offers": [{"price": "1", "floor": None}, {"price": 2, "floor": text}]})
        with pytest.raises(BadRequest) as refusal:
            Decoder(Offers)(body)
        assert refusal.value.errors[0].pointer.startswith("/offers/1")

    @pytest.mark.parametrize(
        ("price", "is_taken"),
        [("-100", True), ("-100.01", False), ("10000", True), ("10000.01", False), ("0.01", True), ("0.001", False)],
    )
    def test_is_within_its_bounds_and_in_cents_where_it_may_be_left_out_too(self, price: str, is_taken: bool):
        for body in ({"price": price}, {"price": "1", "floor": price}):
            with nullcontext() if is_taken else pytest.raises(BadRequest):
                Decoder(Offer)(to_json(body))

    def test_leaves_numbers_as_json_has_them(self):
        assert Decoder(list[Offer])(b'[{"price":1e3,"floor":-0.05}]')[0].price == 1000


class TestANumberInTheQuery:
    @pytest.mark.parametrize("text", ODD_NUMBERS)
    def test_is_refused_in_other_spellings(self, text: str):
        for kind in (int, float):
            with pytest.raises(BadRequest):
                parse_parameter("query", "limit", text, kind)


class TestANameOnTheWire:
    def test_is_made_of_the_name_in_the_code(self):
        names = ("id", "physical_asset_id", "asset_ids", "final_soc_tolerance")
        assert [wire_name(name) for name in names] == ["id", "physicalAssetID", "assetIDs", "finalSoCTolerance"]
        assert [parameter_name(name) for name in ("from_", "as_of", "limit")] == ["from", "as-of", "limit"]
