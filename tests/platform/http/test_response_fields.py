"""A response with the fields of a value: named without their units, left out where they may be."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from gridloom.platform.http.fields import ResponseBody, view_of

pytestmark = pytest.mark.pure


@dataclass
class Offer:
    price_eur: float
    price_eur_mwh: float | None
    power_kw: float
    energy_kwh: float | None
    note: str | None
    hidden: str = "not shown"


class Shown(ResponseBody):
    power: float
    energy: float | None
    note: str | UnsetType = UNSET
    total: float = 0.0


class Prices(ResponseBody):
    price: float | None


class TestAResponse:
    def test_shows_a_field_without_its_unit_and_leaves_out_what_may_be(self) -> None:
        offer = Offer(price_eur=1.0, price_eur_mwh=2.0, power_kw=3.0, energy_kwh=None, note=None)
        assert msgspec.to_builtins(view_of(Shown, offer)) == {"power": 3.0, "energy": None, "total": 0.0}
        offer.note = "kept"
        assert view_of(Shown, offer, power=9.0, total=8.0) == Shown(power=9.0, energy=None, note="kept", total=8.0)

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("price_eur", True),
            ("price_eur_mwh", True),
            ("price_eur_mw", True),
            ("price_kw", True),
            ("price_kwh", True),
            ("price_mwh", True),
            ("price_mw", True),
            ("price_usd", False),
            ("eur_price", False),
        ],
    )
    def test_knows_the_units_of_the_house(self, name: str, shown: bool) -> None:
        value = msgspec.defstruct("Value", [(name, float)])(**{name: 4.0})
        if shown:
            assert view_of(Prices, value) == Prices(price=4.0)
        else:
            with pytest.raises(TypeError):
                view_of(Prices, value)
