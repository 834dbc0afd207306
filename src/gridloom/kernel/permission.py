"""The words that say what may be done, on tokens, grants, operations and events alike."""

from __future__ import annotations

from enum import StrEnum


class Permission(StrEnum):
    READ_PHYSICAL_ASSETS = "Read:physical-assets"
    UPDATE_PHYSICAL_ASSETS = "Update:physical-assets"
    READ_SCHEDULES = "Read:schedules"
    UPDATE_SCHEDULES = "Update:schedules"
    CREATE_ANCILLARY_BIDS = "Create:ancillary-bids"
    CREATE_ANCILLARY_RESULTS = "Create:ancillary-results"
    CREATE_UNAVAILABILITIES = "Create:unavailabilities"
    CREATE_LOGBOOK = "Create:logbook"
    CREATE_EXCHANGE_NOTIFICATIONS = "Create:exchange-notifications"
    READ_MONITORING = "Read:monitoring"
    CREATE_MONITORING = "Create:monitoring"
    READ_VIRTUAL_ASSETS = "Read:virtual-assets"
    READ_AUCTIONS = "Read:auctions"
    CREATE_BIDS = "Create:bids"
    MANAGE_AUCTIONS = "Manage:auctions"
    READ_REVENUE = "Read:revenue"
    CREATE_SETTLEMENTS = "Create:settlements"
    CREATE_REFERENCE_PRICES = "Create:reference-prices"
    CREATE_TRADES = "Create:trades"
    CREATE_OPTIMISATIONS = "Create:optimisations"
    MANAGE_ORGANISATION = "Manage:organisation"
