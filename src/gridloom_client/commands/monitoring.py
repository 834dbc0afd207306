"""`gridloom monitoring …`"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from cyclopts import App, Parameter
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from gridloom_client.commands.ending import REFUSED, Misunderstood, ending
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.rendering import print_json, print_table
from gridloom_client.commands.table_files import Piece, TableFile, open_table

app = App(name="monitoring", help="Telemetry of physical assets.", group="Using the platform")

_MOST_SHOWN = 10


@app.command
@ending
def signals(asset_id: UUID, *, options: Options = USUAL) -> None:
    """List the signals of an asset, with the times of their first and last points."""
    with connect(options) as client:
        found = list(client.monitoring.signals(asset_id))
    if options.form == "json":
        print_json(found)
        return
    rows = [(signal.name, signal.unit, signal.kind, signal.first, signal.last) for signal in found]
    print_table("Signals", ["Name", "Unit", "Kind", "First", "Last"], rows)


@app.command
@ending
def latest(asset_id: UUID, *, options: Options = USUAL) -> None:
    """Show the latest point of each signal of an asset."""
    with connect(options) as client:
        found = client.monitoring.latest(asset_id)
    if options.form == "json":
        print_json(found)
        return
    rows = [(name, point.value, point.time) for name, point in found.data.items()]
    print_table("Latest points", ["Signal", "Value", "Time"], rows)


@app.command(name="import")
@ending
def import_(
    file: Path,
    *,
    asset: Annotated[UUID | None, Parameter(help="Whose points these are, where the file does not say.")] = None,
    options: Options = USUAL,
) -> None:
    """Store the points of a CSV or Parquet file.

    The file has the columns signal, time and value, or time and one column a signal; a column physicalAssetID says
    whose points they are, else --asset does. Points that are stored already are overwritten, so an import that was
    interrupted may simply be run again.
    """
    counts: Counter[str] = Counter()
    reasons: dict[str, tuple[int, list[str]]] = {}
    with ExitStack() as stack:
        table = stack.enter_context(open_table(file))
        _check_owner(table, asset)
        client = stack.enter_context(connect(options))
        progress = stack.enter_context(_progress(quiet=options.form == "json"))
        task = progress.add_task(file.name, total=table.size, points=0)
        for piece in table.pieces():
            body, media_type = piece.body, piece.media_type
            answer: Any
            if asset is None:
                answer = client.monitoring.write_many(body, content_type=media_type)
            else:
                answer = client.monitoring.write(asset, body, content_type=media_type)
            for name in ("received", "written", "overwritten", "refused"):
                counts[name] += getattr(answer, name)
            _note_refusals(reasons, answer.refusals, piece)
            progress.update(task, advance=piece.size, points=counts["received"])
    if options.form == "json":
        refusals = [{"reason": reason, "count": count} for reason, (count, _) in reasons.items()]
        print_json({**counts, "refusals": refusals})
    else:
        written, overwritten, refused = (f"{counts[name]:,}" for name in ("written", "overwritten", "refused"))
        Console().print(f"{written} points written, {overwritten} overwritten, {refused} refused.", highlight=False)
        if reasons:
            rows = [(reason, count, ", ".join(places)) for reason, (count, places) in reasons.items()]
            print_table("Refused", ["Reason", "Points", "First places"], rows)
    if counts["refused"]:
        raise SystemExit(REFUSED)


def _check_owner(table: TableFile, asset: UUID | None) -> None:
    if asset is None and not table.names_assets:
        raise Misunderstood("The file has no column physicalAssetID: say whose points these are with --asset.")
    if asset is not None and table.names_assets:
        raise Misunderstood("The file names the assets in its column physicalAssetID: leave --asset out.")


def _note_refusals(reasons: dict[str, tuple[int, list[str]]], refusals: Any, piece: Piece) -> None:
    """Places count from the start of the piece; a person counts from the start of the file."""
    for refusal in refusals:
        count, places = reasons.get(refusal.reason, (0, []))
        for pointer in refusal.pointers[: _MOST_SHOWN - len(places)]:
            _, row, column = pointer.split("/", 2)
            places.append(f"row {piece.first_row + int(row) + 1:,} ({column})")
        reasons[refusal.reason] = count + refusal.count, places


def _progress(*, quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[points]:,} points"),
        TimeRemainingColumn(),
        console=Console(stderr=True, quiet=quiet),
    )
