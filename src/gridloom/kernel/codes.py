"""Codes that the industry gives: EIC with its check character, control areas, MaStR numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

# In Python `$` alone would let a line break at the end through.
EIC_PATTERN: Final = r"^[A-Z0-9-]{16}(?!\n)$"
MASTR_STORAGE_UNIT_PATTERN: Final = r"^SEE[0-9]{12}(?!\n)$"

# A character's value is its index here.
_EIC_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-"


class ControlArea(StrEnum):
    """The four areas in which Germany's transmission system operators keep the balance."""

    FIFTY_HERTZ = "50Hertz"
    AMPRION = "Amprion"
    TENNET = "TenneT"
    TRANSNET_BW = "TransnetBW"

    @property
    def eic(self) -> str:
        return CONTROL_AREA_EICS[self]


CONTROL_AREA_EICS: Final[Mapping[ControlArea, str]] = MappingProxyType(
    {
        ControlArea.FIFTY_HERTZ: "10YDE-VE-------2",
        ControlArea.AMPRION: "10YDE-RWENET---I",
        ControlArea.TENNET: "10YDE-EON------1",
        ControlArea.TRANSNET_BW: "10YDE-ENBW-----N",
    }
)
BIDDING_ZONE_DE_LU_EIC: Final = "10Y1001A1001A82H"


class EicKind(StrEnum):
    """The kind of object that an EIC names, by its third character."""

    PARTY = "X"
    AREA = "Y"
    RESOURCE = "W"


def eic_check_character(stem: str) -> str:
    """The sixteenth character for the first fifteen: weights 16 down to 2, modulo 37."""
    if not re.fullmatch(r"[A-Z0-9-]{15}", stem):
        raise ValueError("An EIC starts with 15 characters out of A–Z, 0–9 and the hyphen.")
    total = sum(
        _EIC_ALPHABET.index(character) * weight for character, weight in zip(stem, range(16, 1, -1), strict=True)
    )
    return _EIC_ALPHABET[36 - (total - 1) % 37]


def check_eic(code: str, kind: EicKind | None = None) -> str:
    """The code itself; a ValueError that says what is wrong with it otherwise."""
    if not re.fullmatch(r"[A-Z0-9-]{16}", code):
        raise ValueError("Expected an EIC: 16 characters out of A–Z, 0–9 and the hyphen.")
    expected = eic_check_character(code[:-1])
    if code[-1] != expected:
        raise ValueError(f"Expected an EIC: its check character would be {expected}, not {code[-1]}.")
    if kind is not None and code[2] != kind:
        raise ValueError(
            f"Expected the EIC of a {kind.name.lower()}: its third character would be {kind}, not {code[2]}."
        )
    return code
