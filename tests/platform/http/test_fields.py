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
from gridloom.platform.http.fields import Instant, accept_instant, parameter_name, view_of, wire_name

pytestmark = pytest.mark.pure

Price = Annotated[Decimal, Euro(Decimal(-100), Decimal(10_000))]


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


class TestARefusal:
    def test_does_not_repeat_a_name_as_long_as_the_body(self):
        with pytest.raises(BadRequest) as refusal:
            Decoder(Sample)(b'{"' + b"a" * 1_000_000 + b'":1}')
        assert len(refusal.value.detail) < 5_000


class TestAnAmountAsText:
    def test_leaves_numbers_as_json_has_them(self):
        assert Decoder(list[Offer])(b'[{"price":1e3,"floor":-0.05}]')[0].price == 1000


class TestANameOnTheWire:
    def test_is_made_of_the_name_in_the_code(self):
        names = ("id", "physical_asset_id", "asset_ids", "final_soc_tolerance")
        assert [wire_name(name) for name in names] == ["id", "physicalAssetID", "assetIDs", "finalSoCTolerance"]
        assert [parameter_name(name) for name in ("from_", "as_of", "limit")] == ["from", "as-of", "limit"]
