"""`gridloom audit`: who did what, when and from where."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from gridloom_client.commands.terminal.options import USUAL, Options, connect
from gridloom_client.commands.terminal.rendering import print_data, print_table
from gridloom_client.commands.terminal.windows import read_instant


def audit(
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    action: str | None = None,
    resource: str | None = None,
    limit: int = 50,
    options: Options = USUAL,
) -> None:
    """List what was done in your organisation, the newest first; for ADMINs.

    For example:

        gridloom audit
        gridloom audit --action placeBid --start 2026-11-01 --limit 1000 -o csv > audit.csv

    Parameters
    ----------
    start
        From then on; market time where no offset is given.
    end
        Until then.
    action
        Only this operation, such as placeBid.
    resource
        Only this path, such as /auctions.
    limit
        At most so many.
    """
    with connect(options) as client:
        entries = client.organisations.audit_log(
            start=read_instant(start) if start else None,
            end=read_instant(end) if end else None,
            action=action,
            resource=resource,
            page_size=min(limit, 1000),
        )
        found = list(islice(entries, limit))
    if print_data(found, options):
        return
    rows = [(one.time, one.actor_name or one.actor_kind, one.action, one.status, one.resource) for one in found]
    print_table("Audit log", ["When", "Who", "Action", "Status", "Resource"], rows, options)
