"""`gridloom monitoring …`"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.table_files import Piece, TableFile, open_table
from gridloom_client.commands.telemetry_export import export
from gridloom_client.commands.terminal.ending import REFUSED, CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_answer, report_done
from gridloom_client.commands.terminal.finding import find_battery
from gridloom_client.commands.terminal.options import USUAL, BatteryName, ListEnd, ListStart, Options, connect
from gridloom_client.commands.terminal.progress import make_progress
from gridloom_client.commands.terminal.rendering import (
    as_record,
    instant_text,
    print_data,
    print_followed,
    print_json,
    print_table,
    show_lines,
)
from gridloom_client.commands.terminal.windows import open_window
from gridloom_client.literals import TimeUnit

if TYPE_CHECKING:
    from rich.progress import Progress

app = CommandGroup(
    name="monitoring",
    help="Telemetry of physical assets: signals, latest, sums, tail, export, import, lines.",
    group="Using the platform",
)

_MAX_SHOWN = 10

app.command(export)


@app.command
def signals(asset: BatteryName, *, options: Options = USUAL) -> None:
    """List the signals of an asset, with the times of their first and last points.

    For example:

        gridloom monitoring signals "Husum 1"
    """
    with connect(options) as client:
        found = list(client.monitoring.signals(find_battery(client, asset)))
    if print_data(found, options):
        return
    rows = [(signal.name, signal.unit, signal.kind, signal.first, signal.last) for signal in found]
    print_table("Signals", ["Name", "Unit", "Kind", "First", "Last"], rows, options)


@app.command
def latest(asset: BatteryName, *, options: Options = USUAL) -> None:
    """Show the latest point of each signal of an asset.

    For example:

        gridloom monitoring latest "Husum 1"
        gridloom monitoring latest 099a8057 -o json
    """
    with connect(options) as client:
        found = client.monitoring.latest(find_battery(client, asset))
    if options.form == "json":
        print_json(found)
        return
    rows = [{"signal": name, "value": point.value, "time": point.time} for name, point in found.data.items()]
    if not print_data(rows, options):
        print_table("Latest points", ["Signal", "Value", "Time"], [list(row.values()) for row in rows], options)


@app.command
def sums(
    asset: BatteryName,
    *,
    signals: str | None = None,
    start: ListStart = None,
    end: ListEnd = None,
    options: Options = USUAL,
) -> None:
    """Sum up signals over a span: least, greatest and mean values, energy charged and discharged.

    For example:

        gridloom monitoring sums "Husum 1" --signals active_power --start 2026-11-16 --end 2026-11-17

    Parameters
    ----------
    signals
        Only these, separated by commas.
    """
    wanted = [name.strip() for name in signals.split(",")] if signals else None
    with connect(options) as client:
        battery = find_battery(client, asset)
        found = client.monitoring.sums(battery, datapoints=wanted, **open_window(start, end))
    rows = [{"signal": name, **as_record(one)} for name, one in found.data.items()]
    columns = {
        "Signal": "signal",
        "Unit": "unit",
        "Points": "count",
        "Mean": "mean",
        "Least": "min",
        "Greatest": "max",
        "Charged kWh": "energyCharged",
        "Discharged kWh": "energyDischarged",
        "Net kWh": "energyNet",
        "Cycles": "cycles",
        "Sum": "sum",
    }
    print_answer("Sums", found, rows, columns, options)


@app.command
def lines(file: Path | None = None, *, precision: TimeUnit | None = None, options: Options = USUAL) -> None:
    """Store points in InfluxDB's line protocol, from a file or a pipe.

    For example:

        gridloom monitoring lines points.txt --precision s

    Parameters
    ----------
    file
        Its lines; standard input when left out.
    precision
        What times count: ns, us, ms or s; ns when left out.
    """
    content = sys.stdin.buffer.read() if file is None else file.read_bytes()
    with connect(options) as client:
        client.monitoring.write_lines(content, precision=precision)
    report_done("Stored.", options)


@app.command
def tail(
    asset: BatteryName,
    *,
    signals: str | None = None,
    after: str | None = None,
    count: int | None = None,
    options: Options = USUAL,
) -> None:
    """Print points as they are stored until you press Ctrl-C; a lost connection is taken up where it was lost.

    For example:

        gridloom monitoring tail "Husum 1"
        gridloom monitoring tail "Husum 1" --signals active_power,state_of_charge
        gridloom monitoring tail 099a8057 -o ndjson | head

    Parameters
    ----------
    signals
        Only these, separated by commas.
    after
        Go on after this place, as printed with -o json, instead of starting with the latest points.
    count
        Stop after so many points.
    """
    wanted = [name.strip() for name in signals.split(",")] if signals else None
    printed = 0
    with connect(options) as client:
        battery = find_battery(client, asset)
        for followed in client.monitoring.follow(battery, datapoints=wanted, last_event_id=after):
            if followed.kind == "gap":
                show_lines("Some points between are no longer told; export reads them.", to_stderr=True)
            for name, instant, value in followed.points():
                row = {"signal": name, "time": instant, "value": value, "place": followed.place}
                if not print_followed(row, options, is_first=printed == 0):
                    _print_point(name, instant, value, options)
                printed += 1
                if printed == count:
                    return


@app.command(name="import")
def import_(
    file: Annotated[Path, Parameter(help="Its ending says what it is: .csv or .parquet.")],
    *,
    asset: Annotated[
        str | None, Parameter(help="Whose points these are (id, its end, or name), where the file does not say.")
    ] = None,
    options: Options = USUAL,
) -> None:
    """Store the points of a CSV or Parquet file; a CSV file may be separated by commas or semicolons.

    For example:

        gridloom monitoring import history.parquet --asset "Husum 1"
        gridloom monitoring import all-batteries.csv

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
        battery = find_battery(client, asset) if asset is not None else None
        progress = stack.enter_context(_point_progress(quiet=options.form == "json"))
        task = progress.add_task(file.name, total=table.size, points=0)
        for piece in table.pieces():
            body, media_type = piece.body, piece.media_type
            answer: Any
            if battery is None:
                answer = client.monitoring.write_many(body, partial=True, content_type=media_type)
            else:
                answer = client.monitoring.write(battery, body, partial=True, content_type=media_type)
            for name in ("received", "written", "overwritten", "refused"):
                counts[name] += getattr(answer, name)
            _note_refusals(reasons, answer.refusals, piece)
            progress.update(task, advance=piece.size, points=counts["received"])
    if options.form == "json":
        refusals = [{"reason": reason, "count": count} for reason, (count, _) in reasons.items()]
        print_json({**counts, "refusals": refusals})
    else:
        written, overwritten, refused = (f"{counts[name]:,}" for name in ("written", "overwritten", "refused"))
        show_lines(f"{written} points written, {overwritten} overwritten, {refused} refused.")
        if reasons:
            rows = [(reason, count, ", ".join(pointers)) for reason, (count, pointers) in reasons.items()]
            print_table("Refused", ["Reason", "Points", "First places"], rows)
    if counts["refused"]:
        raise SystemExit(REFUSED)


def _check_owner(table: TableFile, asset: str | None) -> None:
    if asset is None and not table.names_assets:
        raise Misunderstood("The file has no column physicalAssetID: say whose points these are with --asset.")
    if asset is not None and table.names_assets:
        raise Misunderstood("The file names the assets in its column physicalAssetID: leave --asset out.")


def _note_refusals(reasons: dict[str, tuple[int, list[str]]], refusals: Any, piece: Piece) -> None:
    """Pointers count rows from the start of the piece; a person counts from the start of the file."""
    for refusal in refusals:
        count, found = reasons.get(refusal.reason, (0, []))
        for pointer in refusal.pointers[: _MAX_SHOWN - len(found)]:
            _, row, column = pointer.split("/", 2)
            found.append(f"row {piece.first_row + int(row) + 1:,} ({column})")
        reasons[refusal.reason] = count + refusal.count, found


def _print_point(name: str, instant: datetime, value: float | None, options: Options) -> None:
    shown = "–" if value is None else f"{value:,.3f}".rstrip("0").rstrip(".")
    print(f"{instant_text(instant, utc=options.utc)}  {name:26} {shown}", flush=True)


def _point_progress(*, quiet: bool) -> Progress:
    from rich.progress import TaskProgressColumn, TextColumn

    return make_progress(TaskProgressColumn(), TextColumn("{task.fields[points]:,} points"), quiet=quiet)
