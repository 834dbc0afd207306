"""The five categories of metadata: typed where the world has rules, with free strings beside them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

from msgspec import Meta

from gridloom.kernel.balancing import ReserveProduct
from gridloom.kernel.codes import MASTR_STORAGE_UNIT_PATTERN, ControlArea
from gridloom.physical_assets.model import EicCode, EnergyKWh, PowerKW
from gridloom.platform.http import RequestBody, ResponseBody, pattern_meta

ShortText = Annotated[str, Meta(min_length=1, max_length=200)]
ExtraName = Annotated[str, Meta(min_length=1, max_length=100)]
ExtraText = Annotated[str, Meta(max_length=2000)]
Count = Annotated[int, Meta(ge=0, le=10_000_000)]
MastrNumber = Annotated[
    str,
    pattern_meta(MASTR_STORAGE_UNIT_PATTERN, "the MaStR number of a unit, SEE and 12 digits, such as SEE900000000001"),
]
MeteringPoint = Annotated[
    str,
    pattern_meta(
        r"^[A-Z]{2}[A-Z0-9]{31}(?!\n)$", "a metering point of 33 characters, such as DE0001234567890000000000000000001"
    ),
]
MarketLocation = Annotated[
    str, pattern_meta(r"^[0-9]{11}(?!\n)$", "a market location of 11 digits, such as 51238696781")
]
CountryCode = Annotated[str, pattern_meta(r"^[A-Z]{2}(?!\n)$", "a country's code of two letters, such as DE")]
AcerCode = Annotated[str, pattern_meta(r"^[A-Za-z0-9_]{9}\.[A-Z]{2}(?!\n)$", "an ACER code, such as A0000001X.DE")]
MarketPartnerNumber = Annotated[
    str, pattern_meta(r"^[0-9]{13}(?!\n)$", "a market partner's number of 13 digits, such as 9900000000001")
]


class MetadataCategory(StrEnum):
    GRID = "grid"
    SITE = "site"
    TECHNICAL = "technical"
    CONTRACT = "contract"
    MARKET = "market"


class VoltageLevel(StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    EXTRA_HIGH = "EXTRA_HIGH"


class Prequalification(StrEnum):
    FCR = ReserveProduct.FCR.value
    AFRR_POS = ReserveProduct.AFRR_POS.value
    AFRR_NEG = ReserveProduct.AFRR_NEG.value


class MetadataBody(RequestBody):
    """Fields of every category: free strings under names of one's own."""

    extra: Annotated[dict[ExtraName, ExtraText], Meta(max_length=100)] = {}


class GridMetadata(MetadataBody):
    """Where and under which numbers the asset is connected."""

    mastr_number: MastrNumber | None = None
    eic_code: EicCode | None = None
    tso: ControlArea | None = None
    dso: ShortText | None = None
    grid_connection_point: ShortText | None = None
    voltage_level: VoltageLevel | None = None
    nominal_voltage_kv: Annotated[float, Meta(gt=0, le=1000)] | None = None
    metering_point: MeteringPoint | None = None
    market_location: MarketLocation | None = None
    import_limit: PowerKW | None = None
    export_limit: PowerKW | None = None


class Coordinates(RequestBody):
    """WGS 84, in degrees."""

    latitude: Annotated[float, Meta(ge=-90, le=90)]
    longitude: Annotated[float, Meta(ge=-180, le=180)]


class SiteMetadata(MetadataBody):
    """The location of the asset."""

    coordinates: Coordinates | None = None
    street: ShortText | None = None
    postcode: Annotated[str, Meta(min_length=1, max_length=20)] | None = None
    city: ShortText | None = None
    country: CountryCode | None = None
    altitude_m: Annotated[float, Meta(ge=-500, le=9000)] | None = None


class TechnicalMetadata(MetadataBody):
    """Components of the asset."""

    manufacturer: ShortText | None = None
    model: ShortText | None = None
    chemistry: ShortText | None = None
    inverter_manufacturer: ShortText | None = None
    inverter_model: ShortText | None = None
    inverter_count: Count | None = None
    module_count: Count | None = None
    installed_energy: EnergyKWh | None = None
    warranty_until: date | None = None
    firmware_version: ShortText | None = None


class ContractMetadata(MetadataBody):
    """Parties and term of the contract about the asset."""

    owner: ShortText | None = None
    operator: ShortText | None = None
    optimiser: ShortText | None = None
    contract_number: ShortText | None = None
    starts_on: date | None = None
    ends_on: date | None = None


class MarketMetadata(MetadataBody):
    """Under which identities the asset takes part in markets."""

    bidding_zone: EicCode | None = None
    balancing_group: EicCode | None = None
    market_participant_eic: EicCode | None = None
    acer_code: AcerCode | None = None
    market_partner_number: MarketPartnerNumber | None = None
    prequalified_for: list[Prequalification] = []


BODY_TYPES: Final[Mapping[MetadataCategory, type[MetadataBody]]] = MappingProxyType(
    {
        MetadataCategory.GRID: GridMetadata,
        MetadataCategory.SITE: SiteMetadata,
        MetadataCategory.TECHNICAL: TechnicalMetadata,
        MetadataCategory.CONTRACT: ContractMetadata,
        MetadataCategory.MARKET: MarketMetadata,
    }
)


class Metadata(ResponseBody):
    """All categories; the fields of one that was never put are empty."""

    grid: GridMetadata
    site: SiteMetadata
    technical: TechnicalMetadata
    contract: ContractMetadata
    market: MarketMetadata
