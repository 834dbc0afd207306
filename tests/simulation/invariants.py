"""Every invariant that lives compare, by the name under which it is counted: only where there was something to compare,
an amount that is not zero, a second reading of the same. A run prints the counts; what was never compared was not
tested."""

from __future__ import annotations

ANSWERS = (
    "book",
    "availability",
    "own schedule",
    "ids",
    "ETags",
    "ETags of changes",
    "replaced ETags",
    "repeated requests",
    "pages",
    "settlement counts",
    "reference prices",
    "telemetry",
    "measured power",
    "winner",
    "fates of bids",
    "book after a change",
    "conflicts",
    "previewed losses",
    "changes as they are read",
)
STORES = ("store", "store after cuts", "adjustments", "imbalance of a schedule", "schedule", "power left")
DELIVERY = (
    "position",
    "netted position",
    "limits of dispatch",
    "store of a battery",
    "zone sums",
    "netting of a zone",
    "one sign in a zone",
    "fair parts",
    "levelling",
    "announced cuts",
    "announced cuts of energy",
    "unannounced cuts",
    "reserves held",
    "prices of drift",
)
FIGURES = (
    "categories 15-minute",
    "categories hourly",
    "categories daily",
    "categories raw",
    "netted volume",
    "categories of several",
    "shares of a battery",
)
LINES = (
    *(f"{line} of a holder" for line in ("TRADING", "FCR", "AFRR_CAPACITY", "AFRR_ENERGY", "AUCTION", "TOLLING")),
    *(f"{line} of a holder" for line in ("AVAILABILITY", "IMBALANCE", "END_OF_LIFE", "RESERVE_SHORTFALL")),
    *(f"{line} of an owner" for line in ("AUCTION", "TOLLING", "FCR", "AFRR_CAPACITY", "DRIFT", "IMBALANCE")),
    *("IMBALANCE of a failed owner", "SUBSTITUTION of an owner", "AVAILABILITY less SUBSTITUTION"),
    "zero over all parties",
)
PAST = (
    "as-of readVirtualAssetDataPoints",
    "as-of readVirtualAssetStatement",
    "as-of readPosition",
    "as-of readStateOfCharge",
    "as-of readDispatch",
    "events of changes",
    "events of availability",
    "outcomes of auctions",
    "order of events",
    "audit log",
)
STORMS = ("restart", "one answer of two services")
"""Only in lives with faults."""

RARE = {
    "FCR of an owner": "an accepted balancing bid whose block is over",
    "one answer of two services": "two services that both answer before the first has ended",
}
"""What the few lives of the suite have no time for, or meet by chance; a run of ten minutes must meet it."""

INVARIANTS = (*ANSWERS, *STORES, *DELIVERY, *FIGURES, *LINES, *PAST, *STORMS)


def list_uncompared(counted: dict[str, int]) -> list[str]:
    return [name for name in INVARIANTS if not counted.get(name)]
