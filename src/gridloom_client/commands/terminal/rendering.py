"""How answers look on a terminal, and as data for scripts."""

from __future__ import annotations

import csv
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from gridloom_client.commands.terminal.cells import (
    GAP,
    Cell,
    lay_out_facts,
    lay_out_table,
    measure_text,
    paint,
    wrap_text,
)
from gridloom_client.commands.terminal.ending import Misunderstood, strip_controls
from gridloom_client.frames import load_library, table_of

if TYPE_CHECKING:
    from gridloom_client.commands.terminal.options import Options

MARKET_ZONE = ZoneInfo("Europe/Berlin")
_ENCODER = msgspec.json.Encoder(decimal_format="number")
_NUMBER = re.compile(r"-?[0-9][0-9,]*(\.[0-9]+)?")
_COLOURS = {
    "RUNNING": "green",
    "WON": "bold green",
    "OK": "green",
    "ACTIVE": "green",
    "PENDING": "yellow",
    "DEGRADED": "yellow",
    "LOST": "red",
    "DOWN": "red",
}


def show_lines(*lines: str, to_stderr: bool = False) -> None:
    """Sentences for a person, wrapped where the terminal ends."""
    lines = tuple(map(strip_controls, lines))
    if to_stderr:
        sys.stderr.writelines(line + "\n" for line in lines)
    else:
        _write_lines(part for line in lines for part in wrap_text(line, terminal_width()))


def _write_lines(lines: Iterable[str]) -> None:
    """No line ends in blanks."""
    sys.stdout.writelines(line.rstrip() + "\n" for line in lines)


def terminal_width() -> int:
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def print_json(value: Any) -> None:
    """One JSON document; indented on a terminal."""
    encoded = encode_json(value)
    if sys.stdout.isatty():
        from rich.console import Console  # a tenth of what a command costs

        Console().print_json(encoded.decode())
    else:
        sys.stdout.write(encoded.decode() + "\n")


def encode_json(value: Any) -> bytes:
    """By the interface's names; money has at least two decimals."""
    return _ENCODER.encode(_plain_value(value, exact=True))


def as_record(item: Any, *, exact: bool = True) -> dict[str, Any]:
    """A thing by the interface's names, as in JSON: ids as text, and money exact or as floating-point numbers."""
    record: dict[str, Any] = _plain_value(item, exact=exact)
    return record


def _plain_value(value: Any, *, exact: bool) -> Any:
    if isinstance(value, Decimal):
        digits = max(2, -int(value.as_tuple().exponent))
        return value.quantize(Decimal(1).scaleb(-digits)) if exact else float(value)
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {field.encode_name: _plain_value(getattr(value, field.name), exact=exact) for field in fields}
    if isinstance(value, Mapping):
        return {str(name): _plain_value(each, exact=exact) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(each, exact=exact) for each in value]
    return str(value) if isinstance(value, UUID) else value


def print_data(items: Sequence[Any], options: Options) -> bool:
    """Items in the form that a script asked for; False where a person wants to see them."""
    match options.form:
        case "json":
            print_json(items)
        case "ndjson":
            sys.stdout.writelines(encode_json(item).decode() + "\n" for item in items)
        case "csv":
            rows = [flatten_row(as_record(item)) for item in items]
            names = list(dict.fromkeys(name for row in rows for name in row))
            writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: _write_value(value) for name, value in row.items()} for row in rows)
        case "parquet":
            if sys.stdout.isatty():
                raise Misunderstood("Parquet is not for the eye: send it into a file, as in -o parquet > it.parquet.")
            table = table_of([as_record(item, exact=False) for item in items])
            load_library("pyarrow.parquet").write_table(table, sys.stdout.buffer)
        case _:
            return False
    return True


def print_followed(item: Any, options: Options, *, is_first: bool) -> bool:
    """One thing of a stream for a script, as soon as it is there; False where a person wants to see it."""
    if options.form == "table":
        return False
    if options.form == "parquet":
        raise Misunderstood("A stream has no end, and Parquet is written at the end: use -o ndjson or -o csv.")
    if options.form == "csv":
        row = flatten_row(as_record(item))
        writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
        if is_first:
            writer.writeheader()
        writer.writerow({name: _write_value(value) for name, value in row.items()})
    else:
        sys.stdout.write(encode_json(item).decode() + "\n")
    sys.stdout.flush()
    return True


def flatten_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """For CSV: a thing within a thing becomes columns (`volume.energyCapacity`), a list its JSON."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": each for inner, each in flatten_row(value).items()}
        else:
            flat[name] = encode_json(value).decode() if isinstance(value, list) else value
    return flat


def print_one(item: Any, options: Options) -> bool:
    """One thing in the form that a script asked for; False where a person wants to see it."""
    if options.form == "json":
        print_json(item)
        return True
    return print_data([item], options)


_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def _write_value(value: Any) -> Any:
    """For CSV. A text stays one in a spreadsheet that would compute what starts like a formula, as in the service's."""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], options: Options | None = None
) -> None:
    """A table that fits the terminal, or a sentence when there is nothing in it.

    Columns stand in the order of their importance: those that do not fit are left out and named below.
    """
    utc = options is not None and options.utc
    rows = list(rows)
    rows = [[_round_money(column, value) for column, value in zip(columns, row, strict=True)] for row in rows]
    cells = _make_cells(rows, utc=utc)
    title = strip_controls(title)
    if not cells:
        show_lines(f"No {title if title[:2].isupper() else title[:1].lower() + title[1:]}.")
        return
    widths = [
        max(len(column), *(measure_text(row[index].text) for row in cells)) + GAP
        for index, column in enumerate(columns)
    ]
    shown = choose_columns(widths, terminal_width() + GAP)
    lines = lay_out_table(
        [columns[index] for index in shown],
        [[row[index] for index in shown] for row in cells],
        [
            all(_is_number(value[index], row[index].text) for value, row in zip(rows, cells, strict=True))
            for index in shown
        ],
        terminal_width(),
    )
    left_out = ", ".join(column for index, column in enumerate(columns) if index not in shown)
    notes = wrap_text(f"Not shown: {left_out}", terminal_width()) if left_out else []
    _write_lines(
        [
            *(paint(Cell(line, "italic"), sys.stdout) for line in wrap_text(title, terminal_width())),
            *lines,
            *(paint(Cell(line, "dim"), sys.stdout) for line in notes),
        ]
    )


def _round_money(title: str, value: Any) -> Any:
    """A column whose title says EUR has two decimals."""
    return Decimal(repr(value)) if isinstance(value, float) and "EUR" in title else value


def _make_cells(rows: Sequence[Sequence[Any]], *, utc: bool) -> list[list[Cell]]:
    """A column of midnights is a column of days."""
    zone = UTC if utc else MARKET_ZONE
    days = {
        index
        for index in range(len(rows[0]) if rows else 0)
        if all(_is_midnight(row[index], zone) for row in rows if isinstance(row[index], datetime))
    }
    return [
        [
            Cell(f"{value.astimezone(zone):%Y-%m-%d}")
            if index in days and isinstance(value, datetime)
            else _make_cell(value, utc=utc, is_short=True)
            for index, value in enumerate(row)
        ]
        for row in rows
    ]


def _is_midnight(instant: datetime, zone: tzinfo) -> bool:
    return instant.astimezone(zone).time() == time()


def choose_columns(widths: Sequence[int], room: int) -> list[int]:
    """The first column, and of the others as many, in the order of their importance, as there is room for."""
    shown, used = [0], widths[0]
    for index, width in enumerate(widths[1:], start=1):
        if used + width <= room:
            shown.append(index)
            used += width
    return shown


def print_facts(title: str, facts: Mapping[str, Any], options: Options | None = None) -> None:
    """Names and values under each other; what is unknown is left out."""
    shown = [
        (name, _make_cell(_round_money(name, value), utc=options is not None and options.utc))
        for name, value in facts.items()
        if value is not None and value != ()
    ]
    titles = wrap_text(strip_controls(title), terminal_width())
    lines = [paint(Cell(line, "bold"), sys.stdout) for line in titles]
    _write_lines([*lines, *lay_out_facts(shown, terminal_width())])


def count_text(count: int, thing: str) -> str:
    """`1 day`, `1,200 days`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def short_id(id: UUID | str) -> str:
    """The end of an id, which differs where the beginning, a time, may not."""
    return str(id)[-8:]


def _make_cell(value: Any, *, utc: bool = False, is_short: bool = False) -> Cell:
    if value is None:
        return Cell("–", "dim")
    text = strip_controls(short_id(value) if is_short and isinstance(value, UUID) else instant_text(value, utc=utc))
    return Cell(text, _COLOURS.get(text, ""))


def instant_text(value: Any, *, utc: bool = False) -> str:
    """In market time, with its zone where that is not plain from the page; numbers as people read them."""
    if isinstance(value, datetime):
        instant = value.astimezone(UTC if utc else MARKET_ZONE)
        text = instant.strftime("%Y-%m-%d %H:%M" if not instant.second else "%Y-%m-%d %H:%M:%S")
        return f"{text}Z" if utc else text
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return f"{value:,.2f}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, tuple | list):
        if len(value) == 2 and all(isinstance(each, datetime) for each in value):
            return span_text(value[0], value[1], utc=utc)
        return ", ".join(instant_text(each, utc=utc) for each in value)
    return str(value)


def span_text(start: datetime, end: datetime, *, utc: bool) -> str:
    """`2026-11-16 00:00–24:00` within a day, else from day to day."""
    first, last = (instant.astimezone(UTC if utc else MARKET_ZONE) for instant in (start, end))
    if first.strftime("%H:%M") == last.strftime("%H:%M") == "00:00":
        days = (last.date() - first.date()).days
        return f"{first:%Y-%m-%d}" if days == 1 else f"{first:%Y-%m-%d} +{days} d"
    if first.date() == last.date():
        return f"{first:%Y-%m-%d %H:%M}–{last:%H:%M}"
    return f"{first:%m-%d %H:%M}–{last:%m-%d %H:%M}"


def _is_number(value: Any, text: str) -> bool:
    """An id is none, even one of which the end happens to be all digits."""
    return not isinstance(value, UUID) and (text == "–" or _NUMBER.fullmatch(text) is not None)
