"""A lake: a market day's tables as Parquet in a dated folder of a directory or bucket, and a catalogue that says it is
whole.

A file is named by its content and never changes. The catalogue is put in place last and at once, and names only files
that are there; a folder without one is not whole. What a catalogue no longer names is deleted after that. So a reader
that goes by the catalogue sees the day as it was before a run or as it is after it, wherever the run was killed.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gridloom_client.frames import load_library
from gridloom_client.wire import PARQUET

if TYPE_CHECKING:
    from gridloom_client.client import Client

CATALOGUE: Final = "catalogue.json"
DATASETS: Final = ("telemetry", "position", "revenue", "statements")


class LakeTable(msgspec.Struct, frozen=True):
    """Rows of one asset, or of an organisation, on one day."""

    dataset: str
    organisation: str
    asset: str
    """Empty for a table of an organisation as a whole."""
    content: bytes
    """Parquet."""


class LakeFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """Within the lake."""
    dataset: str
    organisation: str
    asset: str
    rows: int
    bytes: int
    sha256: str
    columns: dict[str, str]


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a day."""

    version: int = 1
    day: str
    start: str
    end: str
    datasets: tuple[str, ...]
    files: tuple[LakeFile, ...]


def open_lake(address: str) -> tuple[Any, str]:
    """The file system of `/path`, `s3://bucket/prefix` or another address that pyarrow knows, and the path in it."""
    uri = address if "://" in address else str(Path(address).absolute())
    found: tuple[Any, str] = load_library("pyarrow.fs").FileSystem.from_uri(uri)
    return found


def folder_of(root: str, day: date) -> str:
    return f"{root}/day={day.isoformat()}"


def read_catalogue(files: Any, root: str, day: date) -> Catalogue | None:
    """None for a day that is not whole."""
    try:
        with files.open_input_stream(f"{folder_of(root, day)}/{CATALOGUE}") as stream:
            return msgspec.json.decode(stream.read(), type=Catalogue)
    except FileNotFoundError:
        return None


def write_day(
    files: Any,
    root: str,
    window: tuple[datetime, datetime],
    day: date,
    datasets: Iterable[str],
    tables: Iterable[LakeTable],
) -> Catalogue:
    """Write a day's tables; those that are there already are left as they are."""
    before = read_catalogue(files, root, day)
    known = _find_whole(files, root, day, before) if before is not None else set()
    written = sorted((_write_table(files, root, day, table, known) for table in tables), key=lambda file: file.path)
    start, end = (instant.isoformat() for instant in window)
    catalogue = Catalogue(day=day.isoformat(), start=start, end=end, datasets=tuple(datasets), files=tuple(written))
    if catalogue != before:
        _put_catalogue(files, folder_of(root, day), catalogue)
    _delete_others(files, root, day, catalogue)
    return catalogue


def _find_whole(files: Any, root: str, day: date, catalogue: Catalogue) -> set[str]:
    """The files of a catalogue that are there: what was deleted or cut off since is written again."""
    selector = load_library("pyarrow.fs").FileSelector(folder_of(root, day), recursive=True)
    sizes = {found.path: found.size for found in files.get_file_info(selector)}
    return {file.path for file in catalogue.files if sizes.get(f"{root}/{file.path}") == file.bytes}


def _write_table(files: Any, root: str, day: date, table: LakeTable, known: set[str]) -> LakeFile:
    digest = hashlib.sha256(table.content).hexdigest()
    parquet = load_library("pyarrow.parquet").ParquetFile(io.BytesIO(table.content))
    asset = f"/asset={table.asset}" if table.asset else ""
    folder = f"day={day.isoformat()}/{table.dataset}/organisation={table.organisation}{asset}"
    path = f"{folder}/{digest[:16]}.parquet"
    if path not in known:
        _make_folder(files, f"{root}/{folder}")
        with files.open_output_stream(f"{root}/{path}") as stream:
            stream.write(table.content)
    return LakeFile(
        path=path,
        dataset=table.dataset,
        organisation=table.organisation,
        asset=table.asset,
        rows=parquet.metadata.num_rows,
        bytes=len(table.content),
        sha256=digest,
        columns={field.name: str(field.type) for field in parquet.schema_arrow},
    )


def _make_folder(files: Any, path: str) -> None:
    """A bucket has none."""
    if files.type_name == "local":
        files.create_dir(path, recursive=True)


def _put_catalogue(files: Any, folder: str, catalogue: Catalogue) -> None:
    """Under its name only once it is written."""
    _make_folder(files, folder)
    draft = f"{folder}/.{CATALOGUE}.part"
    with files.open_output_stream(draft) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(catalogue)))
    files.move(draft, f"{folder}/{CATALOGUE}")


def _delete_others(files: Any, root: str, day: date, catalogue: Catalogue) -> None:
    fs = load_library("pyarrow.fs")
    folder = folder_of(root, day)
    _make_folder(files, folder)
    kept = {f"{root}/{file.path}" for file in catalogue.files} | {f"{folder}/{CATALOGUE}"}
    for found in files.get_file_info(fs.FileSelector(folder, recursive=True)):
        if found.type == fs.FileType.File and found.path not in kept:
            files.delete_file(found.path)


# --- tables from the service ----------------------------------------------------------------------------------------


def fetch_tables(client: Client, window: tuple[datetime, datetime], datasets: Iterable[str]) -> Iterator[LakeTable]:
    """Of all organisations that the caller reaches: its own, or every one for the platform's operator. Tables without
    rows are left out."""
    for organisation in client.organisations.list():
        owner = str(organisation.id)
        for dataset in datasets:
            for asset, content in _FETCHERS[dataset](client, owner, {"start": window[0], "end": window[1]}):
                if load_library("pyarrow.parquet").read_metadata(io.BytesIO(content)).num_rows:
                    yield LakeTable(dataset, owner, asset, content)


Fetched = Iterator[tuple[str, bytes]]


def _fetch_telemetry(client: Client, owner: str, window: dict[str, Any]) -> Fetched:
    """Every point as it came."""
    for battery in client.physical_assets.list(organisation_id=owner):
        yield str(battery.id), client.monitoring.read.content(PARQUET, battery.id, **window)


def _fetch_position(client: Client, owner: str, window: dict[str, Any]) -> Fetched:
    for asset in client.virtual_assets.list(owner, **window):
        yield str(asset.id), client.virtual_assets.position.content(PARQUET, owner, asset.id, **window)


def _fetch_revenue(client: Client, owner: str, window: dict[str, Any]) -> Fetched:
    """By quarter-hour, in every category."""
    asked = {**window, "resolution": "15-minute"}
    for asset in client.virtual_assets.list(owner, **window):
        yield str(asset.id), client.revenue.of_virtual_asset.content(PARQUET, asset.id, **asked)
    for battery in client.physical_assets.list(organisation_id=owner):
        yield str(battery.id), client.revenue.of_physical_asset.content(PARQUET, battery.id, **asked)


def _fetch_statements(client: Client, owner: str, window: dict[str, Any]) -> Fetched:
    """The organisation's lines of the day."""
    arrow = load_library("pyarrow")
    statement = client.revenue.statement_of_organisation(owner, resolution="daily", **window)
    schema = arrow.schema(
        [
            ("time", arrow.timestamp("ms", "UTC")),
            ("line", arrow.string()),
            ("amount", arrow.decimal128(16, 2)),
            ("counterparty", arrow.string()),
            ("assumedEnergy", arrow.float64()),
        ]
    )
    rows = [
        (line.time, line.line, Decimal(line.amount).quantize(Decimal("0.01")), line.counterparty, line.assumed_energy)
        for line in statement.lines
    ]
    columns = [[row[place] for row in rows] for place in range(len(schema))]
    table = arrow.table([arrow.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema)
    sink = io.BytesIO()
    load_library("pyarrow.parquet").write_table(table, sink, compression="zstd")
    yield "", sink.getvalue()


_FETCHERS: Final = {
    "telemetry": _fetch_telemetry,
    "position": _fetch_position,
    "revenue": _fetch_revenue,
    "statements": _fetch_statements,
}
