"""Who and what there is in the demo: organisations, batteries, and how their capacity is shared out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gridloom.kernel.codes import ControlArea, eic_check_character


@dataclass(frozen=True, slots=True)
class SimulatedOrganisation:
    slug: str
    name: str
    trades: bool
    """Traders bid and schedule; owners have batteries."""
    is_newcomers: bool = False
    """Whether the sandbox's starter signs in here, and decides here once the past has been lived through."""
    asks_for_values: bool = False
    """Whether it bids by the platform's valuation of an auction, or by its own."""


@dataclass(frozen=True, slots=True)
class SimulatedBattery:
    slug: str
    name: str
    owner: str
    zone: str
    power_kw: float
    energy_kwh: float
    efficiency: float
    """Each way"""
    latitude: float
    longitude: float
    fcr_mw: int = 0
    afrr_mw: int = 0

    @property
    def eic(self) -> str:
        stem = f"11WGRID-{self.slug.upper()[:7]:->7}"
        return stem + eic_check_character(stem)


OPERATOR: Final = "operator"
FIFTY_HERTZ, AMPRION, TENNET, TRANSNET_BW = ControlArea
ORGANISATIONS: Final = (
    SimulatedOrganisation("alpenstrom", "Alpenstrom Speicher", trades=False),
    SimulatedOrganisation("kuestenspeicher", "Küstenspeicher", trades=False, is_newcomers=True),
    SimulatedOrganisation("rheintal", "Rheintal Trading", trades=True, asks_for_values=True),
    SimulatedOrganisation("neckar", "Neckar Flex", trades=True),
    SimulatedOrganisation("hanse", "Hanse Energiehandel", trades=True, is_newcomers=True),
    SimulatedOrganisation("elbe", "Elbe Commodities", trades=True),
    SimulatedOrganisation("isar", "Isar Flexkontor", trades=True),
)
TRADERS: Final = tuple(one for one in ORGANISATIONS if one.trades)

BATTERIES: Final = (
    SimulatedBattery(
        "bentwis", "Bentwisch", "kuestenspeicher", FIFTY_HERTZ, 20_000, 40_000, 0.950, 54.12, 12.20, fcr_mw=4
    ),
    SimulatedBattery("schwedt", "Schwedt", "alpenstrom", FIFTY_HERTZ, 12_000, 24_000, 0.945, 53.06, 14.28, fcr_mw=2),
    SimulatedBattery("boxberg", "Boxberg", "alpenstrom", FIFTY_HERTZ, 30_000, 60_000, 0.955, 51.41, 14.57, afrr_mw=4),
    SimulatedBattery("herne", "Herne", "alpenstrom", AMPRION, 16_000, 32_000, 0.948, 51.54, 7.22, fcr_mw=3),
    SimulatedBattery(
        "duisbrg", "Duisburg-Walsum", "kuestenspeicher", AMPRION, 24_000, 48_000, 0.952, 51.53, 6.71, fcr_mw=4
    ),
    SimulatedBattery("lingen", "Lingen", "alpenstrom", AMPRION, 10_000, 20_000, 0.944, 52.52, 7.32, fcr_mw=2),
    SimulatedBattery(
        "brunsbt", "Brunsbüttel", "kuestenspeicher", TENNET, 30_000, 60_000, 0.953, 53.90, 9.14, afrr_mw=4
    ),
    SimulatedBattery("jardelu", "Jardelund", "kuestenspeicher", TENNET, 14_000, 28_000, 0.946, 54.83, 9.20, fcr_mw=2),
    SimulatedBattery("diele", "Diele", "alpenstrom", TENNET, 18_000, 36_000, 0.949, 53.10, 7.30, fcr_mw=3),
    SimulatedBattery("heilbrn", "Heilbronn", "alpenstrom", TRANSNET_BW, 25_000, 50_000, 0.951, 49.14, 9.22, fcr_mw=5),
    SimulatedBattery("kupfrzl", "Kupferzell", "alpenstrom", TRANSNET_BW, 20_000, 40_000, 0.950, 49.23, 9.68, afrr_mw=3),
    SimulatedBattery(
        "karlsrh", "Karlsruhe", "kuestenspeicher", TRANSNET_BW, 12_000, 24_000, 0.945, 49.01, 8.40, fcr_mw=2
    ),
)

FLEETS: Final = {
    "North": (FIFTY_HERTZ, TENNET),
    "South and west": (AMPRION, TRANSNET_BW),
}
"""In which each owner groups its batteries, by delivery zone."""

TOLLED_SHARE: Final = 0.5
"""Of each battery, in virtual batteries that traders hold for a fortnight."""
AUCTIONED_SHARE: Final = 0.25
"""Of each battery, auctioned day by day."""
VIRTUAL_EFFICIENCY: Final = 0.943
DAILY_CYCLES: Final = 2.0
STORAGE_HOURS: Final = 2.0
"""Energy over power, of every battery"""
TOLL_DAYS: Final = 14


@dataclass(frozen=True, slots=True)
class ZoneTerms:
    """`toll_share`: what a zone's owners get, by contract, of what a careful trader is expected to earn with their
    batteries. `closing_hour`: when its auctions close, the day before delivery, on the wall clock."""

    toll_share: float
    toll_holder: str
    closing_hour: int


ZONES: Final[Mapping[str, ZoneTerms]] = {
    FIFTY_HERTZ: ZoneTerms(0.84, "rheintal", 8),
    AMPRION: ZoneTerms(0.86, "hanse", 9),
    TENNET: ZoneTerms(0.84, "hanse", 10),
    TRANSNET_BW: ZoneTerms(0.86, "neckar", 11),
}


def batteries_in(zone: str) -> list[SimulatedBattery]:
    return [battery for battery in BATTERIES if battery.zone == zone]


def batteries_of(owner: str) -> list[SimulatedBattery]:
    return [battery for battery in BATTERIES if battery.owner == owner]
