"""The five categories of metadata: typed where the world has rules, with free strings beside them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

from msgspec import Meta

from gridloom.edge import RequestBody, ResponseBody
from gridloom.kernel.codes import MASTR_STORAGE_UNIT_PATTERN, ControlArea
from gridloom.physical_assets.model import EicCode, EnergyKWh, PowerKW

ShortText = Annotated[str, Meta(min_length=1, max_length=200)]
ExtraName = Annotated[str, Meta(min_length=1, max_length=100)]
ExtraText = Annotated[str, Meta(max_length=2000)]
Count = Annotated[int, Meta(ge=0, le=10_000_000)]


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
    FCR = "FCR"
    AFRR_POS = "AFRR_POS"
    AFRR_NEG = "AFRR_NEG"


class MetadataBody(RequestBody):
    """What every category has: free strings under names of one's own."""

    extra: Annotated[dict[ExtraName, ExtraText], Meta(max_length=100)] = {}


class GridMetadata(MetadataBody):
    """Where and under which numbers the asset is connected."""

    mastr_number: (
        Annotated[str, Meta(pattern=MASTR_STORAGE_UNIT_PATTERN, description="MaStR: SEE and 12 digits")] | None
    ) = None
    eic_code: EicCode | None = None
    tso: ControlArea | None = None
    dso: ShortText | None = None
    grid_connection_point: ShortText | None = None
    voltage_level: VoltageLevel | None = None
    nominal_voltage_kv: Annotated[float, Meta(gt=0, le=1000, description="kV")] | None = None
    metering_point: (
        Annotated[str, Meta(pattern=r"^[A-Z]{2}[A-Z0-9]{31}(?!\n)$", description="33 characters")] | None
    ) = None
    market_location: Annotated[str, Meta(pattern=r"^[0-9]{11}(?!\n)$", description="11 digits")] | None = None
    import_limit: PowerKW | None = None
    export_limit: PowerKW | None = None


class Coordinates(RequestBody):
    """WGS 84, in degrees."""

    latitude: Annotated[float, Meta(ge=-90, le=90)]
    longitude: Annotated[float, Meta(ge=-180, le=180)]


class SiteMetadata(MetadataBody):
    """Where the asset stands."""

    coordinates: Coordinates | None = None
    street: ShortText | None = None
    postcode: Annotated[str, Meta(min_length=1, max_length=20)] | None = None
    city: ShortText | None = None
    country: Annotated[str, Meta(pattern=r"^[A-Z]{2}(?!\n)$", description="ISO 3166-1 alpha-2")] | None = None
    altitude_m: Annotated[float, Meta(ge=-500, le=9000, description="m")] | None = None


class TechnicalMetadata(MetadataBody):
    """What the asset is made of."""

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
    """Who has agreed what about the asset."""

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
    acer_code: (
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{9}\.[A-Z]{2}(?!\n)$", description="Such as A0000001X.DE")] | None
    ) = None
    market_partner_number: Annotated[str, Meta(pattern=r"^[0-9]{13}(?!\n)$", description="13 digits")] | None = None
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
    """All categories; the fields of one that was never put are null."""

    grid: GridMetadata
    site: SiteMetadata
    technical: TechnicalMetadata
    contract: ContractMetadata
    market: MarketMetadata
