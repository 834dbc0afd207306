"""The words that the service knows, for a type checker to check; a test compares them with the interface."""

from __future__ import annotations

from typing import Literal, TypeAlias

DeliveryZone: TypeAlias = Literal["50Hertz", "Amprion", "TenneT", "TransnetBW"]
ReportResolution: TypeAlias = Literal["raw", "15-minute", "hourly", "daily"]
BucketResolution: TypeAlias = Literal["15-minute", "hourly", "daily"]
SeriesResolution: TypeAlias = Literal["raw", "1-minute", "15-minute", "hourly", "daily"]
Aggregation: TypeAlias = Literal["avg", "min", "max", "first", "last", "sum", "count", "time-weighted-avg"]
Market: TypeAlias = Literal["WHOLESALE", "FCR", "AFRR_POS", "AFRR_NEG"]
Role: TypeAlias = Literal["ADMIN", "TRADER", "ENGINEER", "VIEWER"]
OrganisationKind: TypeAlias = Literal["OPERATOR", "PARTICIPANT"]
AuctionStatus: TypeAlias = Literal["NOT_STARTED", "RUNNING", "PENDING", "WON", "LOST", "NO_BIDS_SUBMITTED"]
UnavailabilityKind: TypeAlias = Literal[
    "MAINTENANCE", "OUTAGE", "REDISPATCH", "GRID_CONSTRAINT", "CURTAILMENT", "TESTING", "COMMISSIONING", "OTHER"
]
RepairObjective: TypeAlias = Literal["NEAREST", "BEST_VALUE"]
EndStateOfCharge: TypeAlias = Literal["HARD", "FREE"]
ValuationBasis: TypeAlias = Literal["FORESIGHT", "POLICY"]
BacktestPolicy: TypeAlias = Literal["FORECAST", "YESTERDAY", "MEAN_7_DAYS", "FORESIGHT"]
