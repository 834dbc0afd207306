"""`gridloom auctions change`, `invite`, `cancel`, `bids` and `results`: an auction while it runs and after it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.fields import print_answer, print_rows, print_thing, report_done
from gridloom_client.commands.terminal.finding import find_auction, find_organisation
from gridloom_client.commands.terminal.options import USUAL, Confirmed, ListedID, Options, connect
from gridloom_client.commands.terminal.rendering import show_lines
from gridloom_client.commands.terminal.windows import read_instant

FACTS = {
    "ID": "id",
    "Status": "status",
    "Opens": "start",
    "Closes": "end",
    "Hurdle EUR": "hurdle_price",
    "Invited": "participants",
}


def change(
    auction: ListedID,
    *,
    opens: datetime | None = None,
    closes: datetime | None = None,
    hurdle: Decimal | None = None,
    minimum_availability: float | None = None,
    options: Options = USUAL,
) -> None:
    """Change an auction before it opens; for the platform's operator.

    For example:

        gridloom auctions change 099a8057 --closes 2026-11-17T10:00 --hurdle 950

    Parameters
    ----------
    opens
        From when bids are taken; without an offset it is market time.
    closes
        Until when.
    hurdle
        The lowest price that is taken, EUR.
    minimum_availability
        The least share of it that must be deliverable when the auction closes, 0 to 1.
    """
    named: dict[str, Any] = {
        "start": read_instant(opens) if opens else None,
        "end": read_instant(closes) if closes else None,
        "hurdle_price": hurdle,
        "minimum_availability": minimum_availability,
    }
    changes = {name: value for name, value in named.items() if value is not None}
    if not changes:
        raise Misunderstood("Say what to change: --opens, --closes, --hurdle or --minimum-availability.")
    with connect(options) as client:
        seen = client.auctions.get.answer(find_auction(client, auction))
        changed = client.auctions.update(seen.value.id, **changes, if_match=seen.etag)
    print_thing("Changed", changed, FACTS, options)


def invite(auction: ListedID, organisations: Sequence[str], *, options: Options = USUAL) -> None:
    """Say who may bid, before an auction opens; for the platform's operator. Who is not named is no longer invited.

    For example:

        gridloom auctions invite 099a8057 "Hanse Energiehandel" "Nordlicht Trading"

    Parameters
    ----------
    organisations
        All that may bid from now on, by id or name.
    """
    with connect(options) as client:
        seen = client.auctions.get.answer(find_auction(client, auction))
        invited = [find_organisation(client, name) for name in organisations]
        changed = client.auctions.set_participants(seen.value.id, invited, if_match=seen.etag)
    print_thing("Invited", changed, FACTS, options)


def cancel(auction: ListedID, *, yes: Confirmed = False, options: Options = USUAL) -> None:
    """Cancel an auction before it closes; for the platform's operator. It cannot be taken back.

    For example:

        gridloom auctions cancel 099a8057 --yes
    """
    with connect(options) as client:
        seen = client.auctions.get.answer(find_auction(client, auction))
        if not confirm(f"Cancel the auction {seen.value.id}, for good?", yes=yes):
            return
        client.auctions.cancel(seen.value.id, if_match=seen.etag)
    report_done("Cancelled.", options)


def bids(auction: ListedID, *, options: Options = USUAL) -> None:
    """List your organisation's bids in an auction.

    For example:

        gridloom auctions bids 099a8057
    """
    with connect(options) as client:
        found = client.auctions.bids(find_auction(client, auction))
        columns = {"ID": "id", "No.": "sequence", "Price EUR": "price", "At": "timestamp", "Withdrawn": "withdrawn"}
        print_rows("Bids", found, columns, options)


def results(auction: ListedID, *, options: Options = USUAL) -> None:
    """List every bid of a cleared auction, ranked; for the platform's operator.

    For example:

        gridloom auctions results 099a8057
        gridloom auctions results 099a8057 -o csv > bids.csv
    """
    with connect(options) as client:
        found = client.auctions.results(find_auction(client, auction))
    columns = {
        "Rank": "rank",
        "Organisation": "organisation_id",
        "Price EUR": "price",
        "At": "timestamp",
        "Fate": "fate",
        "Placed as": "position",
    }
    if print_answer("Results", found, found.bids, columns, options):
        show_lines(found.detail or f"{found.outcome}, cleared {found.cleared_at:%Y-%m-%d %H:%M} UTC.")
