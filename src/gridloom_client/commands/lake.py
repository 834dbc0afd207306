"""`gridloom lake`: market days as Parquet in a directory or a bucket."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.options import USUAL, Options, connect
from gridloom_client.commands.terminal.rendering import count_text, print_data, print_table
from gridloom_client.commands.terminal.windows import choose_day, market_day, service_time
from gridloom_client.lake import DATASETS, fetch_tables, open_lake, write_day

app = CommandGroup(name="lake", help="Market days as Parquet in a directory or a bucket.", group="Using the platform")

MAX_DAYS: Final = 1098


@app.command
def write(
    lake: Annotated[str, Parameter(help="A directory, or s3://bucket/prefix.")],
    *,
    day: str | None = None,
    days: int = 1,
    only: str | None = None,
    options: Options = USUAL,
) -> None:
    """Write market days with telemetry, position, revenue and statements, each into a folder with a catalogue.

    Of your organisation; the platform's operator writes every organisation's. Run it nightly: a day that is written
    again is the same to the byte unless its facts have changed.

    For example:

        gridloom lake write /srv/lake
        gridloom lake write s3://nordlicht/gridloom --days 7
        gridloom lake write "s3://nordlicht/gridloom?endpoint_override=s3.example" --day 2026-11-17

    Parameters
    ----------
    day
        The last market day to write; yesterday when left out.
    days
        How many days, that one the last: facts of past days change for a while.
    only
        Only these, separated by commas: telemetry, position, revenue, statements. The folder then holds no others.
    """
    datasets = [name.strip() for name in only.split(",")] if only else list(DATASETS)
    unknown = sorted(set(datasets) - set(DATASETS))
    if unknown or not 1 <= days <= MAX_DAYS:
        raise Misunderstood(
            f"{', '.join(unknown)}: expected {', '.join(DATASETS)}." if unknown else f"days is 1 to {MAX_DAYS}."
        )
    rows = []
    try:
        files, root = open_lake(lake)
        with connect(options) as client:
            last = choose_day(day, service_time(client), days_ahead=-1)
            for back in reversed(range(days)):
                chosen = last - timedelta(days=back)
                window = market_day(chosen)
                catalogue = write_day(files, root, window, chosen, datasets, fetch_tables(client, window, datasets))
                found = catalogue.files
                rows.append(
                    {
                        "day": catalogue.day,
                        "files": len(found),
                        "rows": sum(file.rows for file in found),
                        "bytes": sum(file.bytes for file in found),
                    }
                )
    except (OSError, ValueError) as error:
        raise Misunderstood(f"{lake} cannot be written: {error}.") from None
    if not print_data(rows, options):
        shown = [(row["day"], row["files"], row["rows"], row["bytes"]) for row in rows]
        print_table(f"{count_text(len(rows), 'day')} in {lake}", ["Day", "Files", "Rows", "Bytes"], shown, options)
