"""The words that the service knows, for a type checker to check; a test compares them with the interface."""

from __future__ import annotations

from typing import Literal, TypeAlias

DeliveryZone: TypeAlias = Literal["50Hertz", "Amprion", "TenneT", "TransnetBW"]
ReportResolution: TypeAlias = Literal["raw", "15-minute", "hourly", "daily"]
BucketResolution: TypeAlias = Literal["15-minute", "hourly", "daily"]
SeriesResolution: TypeAlias = Literal["raw", "1-minute", "15-minute", "hourly", "daily"]
Aggregation: TypeAlias = Literal["avg", "min", "max", "first", "last", "sum", "count", "time-weighted-avg"]
Market: TypeAlias = Literal["WHOLESALE", "FCR", "AFRR_POS", "AFRR_NEG"]
BalancingMarket: TypeAlias = Literal["FCR", "AFRR_POS", "AFRR_NEG"]
Role: TypeAlias = Literal["ADMIN", "TRADER", "ENGINEER", "VIEWER"]
OrganisationKind: TypeAlias = Literal["OPERATOR", "PARTICIPANT"]
AuctionStatus: TypeAlias = Literal[
    "NOT_STARTED",
    "RUNNING",
    "PENDING",
    "WON",
    "LOST",
    "NO_BIDS_SUBMITTED",
    "SCHEDULED",
    "CLEARED",
    "CANCELLED",
]
"""A participant's own, or to the operator the auction's: SCHEDULED, RUNNING, CLEARED, CANCELLED."""
UnavailabilityKind: TypeAlias = Literal[
    "MAINTENANCE", "OUTAGE", "REDISPATCH", "GRID_CONSTRAINT", "CURTAILMENT", "TESTING", "COMMISSIONING", "OTHER"
]
RepairObjective: TypeAlias = Literal["NEAREST", "BEST_VALUE"]
EndStateOfCharge: TypeAlias = Literal["HARD", "FREE"]
ValuationBasis: TypeAlias = Literal["FORESIGHT", "POLICY"]
BacktestPolicy: TypeAlias = Literal["FORECAST", "YESTERDAY", "MEAN_7_DAYS", "FORESIGHT"]
BidStatus: TypeAlias = Literal["OFFERED", "ACCEPTED", "REJECTED", "WITHDRAWN", "REPLACED"]
NotificationStatus: TypeAlias = Literal["ACTIVE", "DISMISSED", "INACTIVE"]
DocumentFormat: TypeAlias = Literal["acer-umm", "entsoe"]
LogbookSource: TypeAlias = Literal["USER", "SYSTEM"]
LogbookImpact: TypeAlias = Literal["POSITIVE", "NEUTRAL", "NEGATIVE"]
MetadataCategory: TypeAlias = Literal["grid", "site", "technical", "contract", "market"]
DeviationKind: TypeAlias = Literal["wholesale-trades", "fcr", "afrr-capacity"]
DeliveryState: TypeAlias = Literal["PENDING", "DELIVERED", "FAILED"]
AssetStatus: TypeAlias = Literal["ACTIVE", "INACTIVE", "DECOMMISSIONED"]
BacktestSeries: TypeAlias = Literal["DAY_AHEAD_DE_LU"]
UnavailabilityType: TypeAlias = Literal["PLANNED", "UNPLANNED"]
EventType: TypeAlias = Literal[
    "PRODUCTION_UNAVAILABILITY",
    "CONSUMPTION_UNAVAILABILITY",
    "TRANSMISSION_UNAVAILABILITY",
    "OTHER_UNAVAILABILITY",
]
ReasonCode: TypeAlias = Literal["B18", "B19", "B20", "B55", "B59"]
UnitType: TypeAlias = Literal["GENERATION_UNIT", "PRODUCTION_UNIT"]
Side: TypeAlias = Literal["BUY", "SELL"]
Direction: TypeAlias = Literal["POS", "NEG"]
TradeMarket: TypeAlias = Literal["DAY_AHEAD", "INTRADAY_AUCTION", "INTRADAY_CONTINUOUS", "OTC"]
RevenueCategory: TypeAlias = Literal[
    "revenue_total_revenue",
    "revenue_wholesale",
    "buy_vwap_wholesale",
    "sell_vwap_wholesale",
    "buy_volume_wholesale",
    "sell_volume_wholesale",
    "net_volume_wholesale",
    "net_off_volume_wholesale",
    "revenue_fcr",
    "capacity_fcr",
    "settlement_price_fcr",
    "weighted_capacity_fcr",
    "weighted_settlement_price_fcr",
    "delivery_hours_fcr",
    "capacity_fcr_weighted_avg",
    "settlement_price_fcr_weighted_avg",
    "revenue_afrr_capacity",
    "revenue_afrr_energy",
    "revenue_afrr_energy_pos",
    "revenue_afrr_energy_neg",
    "settlement_price_afrr_energy_pos",
    "settlement_price_afrr_energy_neg",
    "total_volume_afrr_energy_pos",
    "total_volume_afrr_energy_neg",
    "revenue_tolling",
    "annual_price_tolling",
    "revenue_vba",
    "hurdle_price_vba",
    "revenue_normalised_total",
    "revenue_normalised_wholesale",
    "revenue_normalised_fcr",
    "revenue_normalised_afrr_capacity",
    "revenue_normalised_afrr_energy",
    "revenue_normalised_afrr_energy_pos",
    "revenue_normalised_afrr_energy_neg",
    "revenue_normalised_vba",
    "revenue_normalised_tolling",
    "revenue_normalised_per_year_total",
    "revenue_normalised_per_year_wholesale",
    "revenue_normalised_per_year_fcr",
    "revenue_normalised_per_year_afrr_capacity",
    "revenue_normalised_per_year_afrr_energy",
    "revenue_normalised_per_year_afrr_energy_pos",
    "revenue_normalised_per_year_afrr_energy_neg",
    "revenue_normalised_per_year_vba",
    "revenue_normalised_per_year_tolling",
]
PriceSeries: TypeAlias = Literal[
    "DAY_AHEAD_DE_LU",
    "INTRADAY_DE_LU",
    "REBAP_DE",
    "FCR_DE",
    "AFRR_CAPACITY_POS_DE_AVERAGE",
    "AFRR_CAPACITY_POS_DE_MARGINAL",
    "AFRR_CAPACITY_NEG_DE_AVERAGE",
    "AFRR_CAPACITY_NEG_DE_MARGINAL",
    "AFRR_ENERGY_POS_DE_AVERAGE",
    "AFRR_ENERGY_POS_DE_MARGINAL",
    "AFRR_ENERGY_NEG_DE_AVERAGE",
    "AFRR_ENERGY_NEG_DE_MARGINAL",
]
Permission: TypeAlias = Literal[
    "Create:ancillary-bids",
    "Create:ancillary-results",
    "Create:bids",
    "Create:exchange-notifications",
    "Create:logbook",
    "Create:monitoring",
    "Create:optimisations",
    "Create:settlements",
    "Create:trades",
    "Create:unavailabilities",
    "Manage:auctions",
    "Manage:organisation",
    "Read:auctions",
    "Read:monitoring",
    "Read:physical-assets",
    "Read:revenue",
    "Read:schedules",
    "Read:virtual-assets",
    "Update:physical-assets",
    "Update:schedules",
]
EnergyPriceSeries: TypeAlias = Literal[
    "DAY_AHEAD_DE_LU",
    "INTRADAY_DE_LU",
    "REBAP_DE",
    "AFRR_ENERGY_POS_DE_AVERAGE",
    "AFRR_ENERGY_POS_DE_MARGINAL",
    "AFRR_ENERGY_NEG_DE_AVERAGE",
    "AFRR_ENERGY_NEG_DE_MARGINAL",
]
"""Those in EUR/MWh, which a schedule can be planned on."""
