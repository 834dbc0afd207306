"""Codes are accepted exactly when their issuers could have given them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.codes import (
    BIDDING_ZONE_DE_LU_EIC,
    CONTROL_AREA_EICS,
    MASTR_STORAGE_UNIT_PATTERN,
    ControlArea,
    EicKind,
    check_eic,
    eic_check_character,
)

pytestmark = pytest.mark.pure

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-"
stems = st.text(ALPHABET, min_size=15, max_size=15)
PUBLISHED = ["10YDE-VE-------2", "10YDE-RWENET---I", "10YDE-EON------1", "10YDE-ENBW-----N", "10Y1001A1001A82H"]


def is_eic(code: str) -> bool:
    try:
        check_eic(code)
    except ValueError:
        return False
    return True


class TestEic:
    @given(stems, st.integers(0, 14), st.sampled_from(ALPHABET))
    def test_is_refused_with_one_character_mistaken(self, stem: str, place: int, character: str):
        code = stem + eic_check_character(stem)
        mistaken = code[:place] + character + code[place + 1 :]
        assert is_eic(code)
        assert is_eic(mistaken) == (mistaken == code)

    @given(stems, st.integers(0, 13))
    def test_is_refused_with_two_neighbours_swapped(self, stem: str, place: int):
        code = stem + eic_check_character(stem)
        swapped = code[:place] + code[place + 1] + code[place] + code[place + 2 :]
        assert is_eic(swapped) == (swapped == code)

    @pytest.mark.parametrize(
        "code",
        ["", "10YDE-VE-------", "10YDE-VE-------22", "10yde-ve-------2", "10YDE-VE-------2\n", "10YDE_VE_______2"],
    )
    def test_has_sixteen_characters_of_its_alphabet(self, code: str):
        with pytest.raises(ValueError, match="16 characters"):
            check_eic(code)

    def test_names_a_thing_of_the_expected_kind(self):
        with pytest.raises(ValueError, match="EIC of a resource"):
            check_eic("10YDE-VE-------2", EicKind.RESOURCE)


class TestControlArea:
    def test_has_an_eic_of_its_own(self):
        assert [ControlArea(name).eic for name in ("50Hertz", "Amprion", "TenneT", "TransnetBW")] == PUBLISHED[:4]
        assert set(CONTROL_AREA_EICS) == set(ControlArea)
        assert PUBLISHED[4] == BIDDING_ZONE_DE_LU_EIC


class TestMastrNumber:
    def test_of_a_storage_unit_is_see_and_twelve_digits(self):
        assert re.search(MASTR_STORAGE_UNIT_PATTERN, "SEE123456789012")

    @pytest.mark.parametrize(
        "number", ["SEE12345678901", "SEE1234567890123", "SEL123456789012", "see123456789012", "SEE12345678901²", ""]
    )
    def test_is_refused_otherwise(self, number: str):
        assert not re.search(MASTR_STORAGE_UNIT_PATTERN, number)
