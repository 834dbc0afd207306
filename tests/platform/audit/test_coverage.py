"""No change goes by unrecorded, whichever room it belongs to."""

from gridloom.app import ROUTE_MODULES
from gridloom.platform.http import operations_of

TELEMETRY = {
    ("POST", "/monitoring/{physicalAssetID}/datapoints"),
    ("POST", "/monitoring/datapoints"),
    ("POST", "/monitoring/write"),
    ("POST", "/physical-assets/{physicalAssetID}/dispatch/acknowledgements"),
}
VIRTUAL_ASSET = "/organisations/{organisationID}/virtual-assets/{virtualAssetID}"
QUESTIONS = {
    ("POST", "/auctions/{auctionID}/valuations"),
    ("POST", f"{VIRTUAL_ASSET}/optimisations"),
    ("POST", f"{VIRTUAL_ASSET}/repairs"),
    ("POST", "/organisations/{organisationID}/portfolios/{portfolioID}/optimisations"),
    ("POST", f"{VIRTUAL_ASSET}/market-plans"),
    ("POST", "/organisations/{organisationID}/portfolios/{portfolioID}/market-plans"),
    ("POST", "/backtests"),
}
"""They change nothing of the business, and a request for an auction's valuation is confidential."""


def test_every_change_but_telemetry_leaves_an_entry():
    silent = {(o.method, o.path) for o in operations_of(*ROUTE_MODULES) if o.changes_state and not o.audited}
    assert silent == TELEMETRY | QUESTIONS, "an operation that changes something is declared with audited=False"
