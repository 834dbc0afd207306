"""No change goes by unrecorded, whichever room it belongs to."""

from gridloom.app import ROOMS
from gridloom.edge import operations_of

UNRECORDED = {("POST", "/monitoring/{physicalAssetID}/datapoints"), ("POST", "/monitoring/datapoints")}


def test_every_change_but_telemetry_leaves_an_entry():
    silent = {(o.method, o.path) for o in operations_of(*ROOMS) if o.changes_state and not o.audited}
    assert silent <= UNRECORDED, "an operation that changes something is declared with audited=False"
