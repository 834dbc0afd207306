"""Names of the SDK that the rule of `generate.py` does not give: component of openapi.json → name in Python."""

from __future__ import annotations

from typing import Final

ANSWERS: Final = {
    "APIKeyView": "ApiKeyEntry",
    "AuctionBackingView": "Backing",
    "Bid": "AncillaryBid",
    "BlockMetadata": "BlockSummary",
    "CapacityConflict": "Conflict",
    "CategoryMetaData": "SeriesDescription",
    "Counts": "BulkOutcome",
    "DataPoint": "SeriesPoint",
    "DataPointMeta": "SeriesDescription",
    "DataPointMetaData": "RevenueSeriesDescription",
    "ItemView": "AuctionItem",
    "MissingPower": "PowerCapacity",
    "OperationalView": "DataPoints",
    "PhysicalSchedulePoint": "SchedulePoint",
    "Point": "SeriesPoint",
    "PowerCapacity": "BlockPowerCapacity",
    "ProductBids": "AncillaryEntry",
    "ProductResults": "AncillaryResults",
    "Result": "AncillaryResult",
    "ResultsView": "AuctionResults",
    "RevenuePoint": "SeriesPoint",
    "RevenuePoints": "RevenueDataPoints",
    "ScheduledPower": "SchedulePoint",
    "SessionView": "SessionEntry",
    "ShadowPriceView": "ShadowPrices",
    "StepView": "SimulatorStep",
    "Tokens": "SignedIn",
    "VersionView": "ScheduleVersion",
}
"""Two components with one name are one type; a field that only one of them has is optional."""

SHARED_ANSWERS: Final = {
    "RecordedFact": ("assetID", "recordedAt", "recordedBy", "origin", "supersededAt", "supersededBy"),
}
"""Bases of answers that all have these fields."""

SAME_ANSWERS: Final = {"Me": "User"}
"""Further names of an answer."""

ROWS: Final = {
    "AssetOptimisation": "schedule",
    "AssetSchedule": "schedule",
    "AuctionResults": "bids",
    "Availability": "availability",
    "Block": "schedule",
    "Commitments": "commitments",
    "DayAheadForecast": "forecast",
    "DeliveryPerformance": "performance",
    "DeliveryZone": "quarters",
    "Dispatch": "dispatch",
    "IssuedStatement": "lines",
    "Optimisation": "schedule",
    "PortfolioOptimisation": "assets",
    "Repair": "schedule",
    "RevenueBuckets": "buckets",
    "Schedule": "schedule",
    "ScheduledAsset": "schedule",
    "ScheduledBlock": "schedule",
    "Statement": "lines",
    "StatementSummary": "lines",
    "Usage": "shares",
}
"""The field that holds the rows of an answer's table."""

SERIES: Final = frozenset({"DataPoints", "RevenueDataPoints"})
"""Answers that are named series: a column of the table each."""

NAMED_ROWS: Final = frozenset({"DetailedSum", "Latest"})
"""Answers with a value for each signal: a row of the table each."""

INPUTS: Final = {
    "NewAncillaryBid": "ProductBid",
    "NewPower": "Point",
    "NewPowerCapacity": "PowerVolume",
    "NewResult": "ProductResult",
    "NewSchedulePoint": "Point",
    "NewVirtualAsset": "NewVirtualAsset",
    "PricesAsked": "Prices",
    "Revision": "NotificationRevision",
    "SchedulePoint": "Point",
}

EXACT_INPUTS: Final = frozenset(
    {"AfrrActivation", "AfrrCapacityAward", "FcrAward", "NetOff", "ReferencePrice", "TollingContract", "WholesaleTrade"}
)
"""Facts that are settled: their numbers may be Decimals."""

BODIES: Final = frozenset({"NewNotification", "NewParametersVersion", "NewVirtualAsset", "Revision", "TOTPRemoval"})
"""Bodies that a method takes whole; the fields of any other are the method's parameters."""

LITERALS: Final = {
    "Basis": "ValuationBasis",
    "ControlArea": "DeliveryZone",
    "EntrySource": "LogbookSource",
    "EventStatus": "NotificationStatus",
    "Impact": "LogbookImpact",
    "Policy": "BacktestPolicy",
    "Prequalification": "BalancingMarket",
    "Reason": "RefusalReason",
    "Resolution": "SeriesResolution",
    "SeriesStatus": "FeedStatus",
    "UmmEventType": "EventType",
    "VisibleStatus": "AuctionStatus",
}

_SETTLEMENTS: Final = "paths/~1settlements~1{}/post/requestBody/content/application~1json/schema/items/properties/{}"

INLINE_LITERALS: Final = {
    "BacktestSeries": "components/schemas/NewBacktest/properties/series/anyOf/0",
    "BucketResolution": "components/parameters/resolution/schema",
    "DeviationKind": "paths/~1reference-prices~1deviations/get/parameters/2/schema",
    "Direction": _SETTLEMENTS.format("afrr-energy", "direction"),
    "EndStateOfCharge": "components/schemas/NewOptimisation/properties/endStateOfCharge/anyOf/0",
    "EnergyPriceSeries": "components/schemas/PricesAsked/properties/series",
    "PriceSeries": "paths/~1reference-prices/post/requestBody/content/application~1json/schema/items/properties/series",
    "RepairObjective": "components/schemas/NewRepair/properties/objective",
    "ReportResolution": "components/parameters/resolutionInQuery/schema",
    "RevenueCategory": "components/parameters/datapoints/schema/items",
    "Side": _SETTLEMENTS.format("wholesale-trades", "side"),
    "TradeMarket": _SETTLEMENTS.format("wholesale-trades", "market"),
}
"""Enumerations that no component names: where the document has them, as a JSON pointer."""
