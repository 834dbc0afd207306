"""A value is made of the fields of another."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest

from gridloom.kernel.copying import copy_fields, field_names_of

pytestmark = pytest.mark.pure


@dataclass
class Battery:
    name: str
    power_kw: float = 5.0
    notes: list[str] = field(default_factory=list)


@dataclass
class Fleet(Battery):
    size: int = 1


class View(msgspec.Struct, kw_only=True):
    name: str
    power_kw: float = 0.0
    size: int = 0


class FullView(View, kw_only=True):
    is_mine: bool = False


class TestACopy:
    def test_has_every_field_of_its_kind_those_of_its_base_among_them(self) -> None:
        fleet = Fleet("North", 80.0, ["new"], size=16)
        assert copy_fields(View, fleet) == View(name="North", power_kw=80.0, size=16)
        assert copy_fields(FullView, fleet, is_mine=True, size=3) == FullView(
            name="North", power_kw=80.0, size=3, is_mine=True
        )
        assert copy_fields(Fleet, fleet, name="South") == Fleet("South", 80.0, ["new"], size=16)
        assert [list(field_names_of(kind)) for kind in (Fleet, FullView)] == [
            ["name", "power_kw", "notes", "size"],
            ["name", "power_kw", "size", "is_mine"],
        ]

    def test_takes_no_default_for_what_its_source_does_not_have(self) -> None:
        with pytest.raises(AttributeError, match="size"):
            copy_fields(View, Battery("North"))
