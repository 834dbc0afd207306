"""InfluxDB's line protocol as columns: a point for each number of a line.

    active_power,asset=Lübbenau value=4950.0 1774742400000000000
    battery,asset=Lübbenau active_power=4950.0,state_of_charge=61i 1774742400000000000

The signal is the field's name; of the field `value` it is the tag `signal` or, without one, the measurement. True and
false are 1 and 0. Texts are no points and are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from gridloom.kernel.problem import BadRequest
from gridloom.kernel.shares import MEBIBYTE
from gridloom.monitoring.codec import Times, Values
from gridloom.monitoring.ingest import timestamps
from gridloom.monitoring.ingest.columns import (
    MAX_NAMES,
    Codes,
    PointColumns,
    TooManyPoints,
    check_count,
    check_names,
    error,
)
from gridloom.monitoring.ingest.timestamps import Faults
from gridloom.monitoring.model import MAX_POINTS, Reason, TimeUnit
from gridloom.platform.http.long_bodies.slices import count_in_slices

NO_TIME: Final = np.iinfo(np.int64).min
"""Of a line without a time: it is now."""
MAX_FAULTS: Final = 50
MAX_LINE_BYTES: Final = MEBIBYTE
MAX_ASSET_CHARACTERS: Final = 200
"""Of a battery's name."""
_NUMBER: Final = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?\d+i$|^\d+u$"
_NOT_FINITE: Final = r"^(?i)[+-]?(nan|inf|infinity)$"
_BOOLEANS: Final = dict.fromkeys(("t", "T", "true", "True", "TRUE"), "1") | dict.fromkeys(
    ("f", "F", "false", "False", "FALSE"), "0"
)
_TEXT: Final = r'"(?>\\.|[^"\\])*+"'
_LINE_WITH_TEXTS: Final = re.compile(rf"(?>={_TEXT}|[^\n])++", re.DOTALL)
_LINE: Final = re.compile(
    rf"(?P<series>(?>\\.|[^ \\])++) +(?P<fields>(?>={_TEXT}|\\.|[^ \\])++)(?: +(?P<time>\S+))? *", re.DOTALL
)
_PART: Final = re.compile(r"(?>\\.|[^,\\])++", re.DOTALL)
_FIELD: Final = re.compile(rf"(?>\\.|[^,=\\])++=(?>{_TEXT}|[^,\"]*+)(?=,|$)", re.DOTALL)
_UNUSUAL: Final = re.compile(rb'["\\\\\r]|^#', re.MULTILINE)
"""Beyond the lines that Arrow splits: texts, escapes, other ends of lines, comments."""
_ESCAPED: Final = re.compile(r"\\([,= \\])")


class _Series(NamedTuple):
    """The first part of a line, measurement and tags, which most lines of a body repeat."""

    asset_code: int
    signal: str
    fault: str | None = None


@dataclass(slots=True)
class ParsedLines:
    """The points of a body, the texts that name their assets, and the lines that cannot be read."""

    names: list[str]
    codes: Codes
    times: Times
    time_faults: Faults
    values: Values
    faults: Faults
    line_numbers: NDArray[np.int64]
    assets: list[str]
    """Ids or names."""
    asset_codes: Codes
    line_faults: dict[int, str] = field(default_factory=dict)
    """The first of them, by the number of the line."""
    faulty_lines: int = 0
    texts: int = 0

    @property
    def lacks_times(self) -> bool:
        return bool((self.times == NO_TIME).any())

    def name_assets(self, ids: Mapping[str, str], now_us: int) -> PointColumns:
        """The points of the assets that have an id, those without a time at `now_us`."""
        has_id = np.array([text in ids for text in self.assets], dtype=bool)
        kept = has_id[self.asset_codes]
        numbers = self.line_numbers[kept]
        return PointColumns(
            names=self.names,
            codes=self.codes[kept],
            times=np.where(self.times == NO_TIME, now_us, self.times)[kept],
            time_faults=self.time_faults[kept],
            values=self.values[kept],
            faults=self.faults[kept],
            pointer_of=lambda position, _: f"/{int(numbers[position])}",
            assets=[ids.get(text, "00000000-0000-0000-0000-000000000000") for text in self.assets],
            asset_codes=self.asset_codes[kept],
        )

    def refuse_asset(self, text: str, detail: str) -> None:
        """Count and name the lines of an asset that none or several have."""
        lines = np.unique(self.line_numbers[self.asset_codes == self.assets.index(text)])
        self.faulty_lines += len(lines)
        for number in lines[: MAX_FAULTS - len(self.line_faults)].tolist():
            self.line_faults[number] = detail


def parse_lines(body: bytes, unit: TimeUnit) -> ParsedLines:
    for sign, most in ((b"=", 6 * MAX_POINTS), (b"\n", 2 * MAX_POINTS)):
        if len(body) > most and count_in_slices(body, sign) > most:
            raise TooManyPoints(f"The request holds far more than {MAX_POINTS:,} points.")
    found = parse_uniform_lines(body, unit)
    if found is not None:
        return found
    try:
        text = body.decode()
    except UnicodeDecodeError as fault:
        raise BadRequest(f"The body is not UTF-8: {fault.reason} at byte {fault.start}.") from None
    reader = _LineReader()
    for number, line in _split_lines(text):
        reader.read_line(number, line)
    return reader.pack_points(unit)


def parse_uniform_lines(body: bytes, unit: TimeUnit, max_series: int = MAX_NAMES) -> ParsedLines | None:
    """The points of lines that are all of one shape, without a fault and of few series, by Arrow; None for any others.

    Those take many times as long, line by line or series by series, and all of that time the interpreter lock.
    """
    if _UNUSUAL.search(body):
        return None
    blanks = body.partition(b"\n")[0].count(b" ")
    if not 1 <= blanks <= 2:
        return None
    columns = ("series", "fields", "time")[: blanks + 1]
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(body),
            read_options=pa_csv.ReadOptions(use_threads=False, column_names=columns),
            parse_options=pa_csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string())),
        ).combine_chunks()
    except pa.ArrowInvalid:
        return None
    series = table["series"].chunk(0).dictionary_encode()
    check_names(series.dictionary)
    if len(series.dictionary) > max_series:
        return None
    reader = _LineReader()
    kinds = [reader.read_series(text) for text in series.dictionary.to_pylist()]
    if any(kind.fault is not None for kind in kinds):
        return None
    items = pc.split_pattern(table["fields"].chunk(0), ",")
    row = pc.list_parent_indices(items).to_numpy(zero_copy_only=False)
    pairs = pc.split_pattern(pc.list_flatten(items), "=", max_splits=1)
    check_count(len(pairs))
    if not pc.all(pc.equal(pc.list_value_length(pairs), 2)).as_py():
        return None
    names, numbers = pc.list_element(pairs, 0).dictionary_encode(), pc.list_element(pairs, 1)
    if "" in (texts := names.dictionary.to_pylist()) or pc.any(pc.equal(numbers, "")).as_py():
        return None
    check_names(texts)
    series_of_row = series.indices.to_numpy(zero_copy_only=False)
    codes = names.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    if "value" in texts:
        of_measurement = codes == texts.index("value")
        codes = np.where(of_measurement, len(texts) + series_of_row[row], codes)
        texts += [kind.signal for kind in kinds]
    times, time_faults = np.full(len(table), NO_TIME), np.zeros(len(table), dtype=np.uint8)
    if "time" in columns:
        times, time_faults = timestamps.from_number_texts(table["time"].chunk(0), unit)
    values, faults = _read_values(numbers)
    return ParsedLines(
        names=texts,
        codes=codes,
        times=times[row],
        time_faults=time_faults[row],
        values=values,
        faults=faults,
        line_numbers=row + 1,
        assets=reader.assets,
        asset_codes=np.array([kind.asset_code for kind in kinds], dtype=np.intp)[series_of_row[row]],
    )


def _split_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with its number, counted from 1; a text in quotes may hold line feeds."""
    if '="' not in text:
        yield from enumerate(text.split("\n"), 1)
        return
    number, end = 1, 0
    for match in _LINE_WITH_TEXTS.finditer(text):
        number += text.count("\n", end, match.start())
        yield number, match[0]
        end = match.start()


class _LineReader:
    """Line after line into lists, which become columns at the end: texts of numbers are read by the column."""

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}
        self._assets: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._codes: list[int] = []
        self._numbers: list[str] = []
        self._lines: list[tuple[int, int, str, int]] = []  # number, asset, time, how many points
        self._faults: dict[int, str] = {}
        self._faulty_lines = self._texts = 0

    def read_line(self, number: int, line: str) -> None:
        line = line.removesuffix("\r")
        parts = line.split(" ")
        if '"' in line or "\\" in line or not 2 <= len(parts) <= 3 or not all(parts) or line[0] == "#":
            self._read_unusual_line(number, line)
            return
        fields = []
        for item in parts[1].split(","):
            name, sign, text = item.partition("=")
            if not sign or not name or not text:
                self._refuse_line(number, f"the field {item[:80]!r} is not a name, = and a value")
                return
            fields.append((name, text))
        self._add_line(number, parts[0], fields, parts[2] if len(parts) == 3 else "")

    def _read_unusual_line(self, number: int, line: str) -> None:
        """With texts, escapes or several blanks; or empty, or a comment, or none at all."""
        line = line.strip(" \r\t")
        if not line or line.startswith("#"):
            return
        match = _LINE.fullmatch(line)
        if match is None:
            self._refuse_line(number, "the line is not a measurement with tags, a blank, fields, a blank and a time")
            return
        fields, position, text = [], 0, match["fields"]
        while found := _FIELD.match(text, position):
            name, _, value = _split_unescaped(found[0])
            fields.append((name, value))
            position = found.end() + 1
        if position != len(text) + 1 or any(not value for _, value in fields):
            self._refuse_line(number, f"the field at {text[position : position + 80]!r} is not a name, = and a value")
            return
        self._add_line(number, match["series"], fields, match["time"] or "")

    def _add_line(self, number: int, series_text: str, fields: list[tuple[str, str]], time: str) -> None:
        series = self._series.get(series_text)
        if series is None:
            series = self._series[series_text] = self.read_series(series_text)
        if series.fault is not None:
            self._refuse_line(number, series.fault)
            return
        before = len(self._codes)
        for name, text in fields:
            if text[0] == '"':
                self._texts += 1
                continue
            signal = series.signal if name == "value" else name
            code = self._names.get(signal)
            if code is None:
                code = self._names[signal] = len(self._names)
                check_names(self._names)
            self._codes.append(code)
            self._numbers.append(text)
        if len(self._codes) > before:
            self._lines.append((number, series.asset_code, time, len(self._codes) - before))
            check_count(len(self._codes))

    def read_series(self, text: str) -> _Series:
        measurement, *tags = _PART.findall(text)
        values = {name: value for name, sign, value in map(_split_unescaped, tags) if sign}
        asset = _remove_escapes(values.get("asset", ""))
        if not asset:
            return _Series(0, "", "the line has no tag `asset` with a battery's id or name")
        if len(asset) > MAX_ASSET_CHARACTERS:
            return _Series(0, "", f"the tag `asset` is longer than {MAX_ASSET_CHARACTERS} characters")
        code = self._assets.setdefault(asset, len(self._assets))
        check_names(self._assets)
        return _Series(code, _remove_escapes(values.get("signal") or measurement))

    @property
    def assets(self) -> list[str]:
        return list(self._assets)

    def _refuse_line(self, number: int, detail: str) -> None:
        self._faulty_lines += 1
        if len(self._faults) < MAX_FAULTS:
            self._faults[number] = detail

    def pack_points(self, unit: TimeUnit) -> ParsedLines:
        numbers, assets, times_given, counts = zip(*self._lines, strict=True) if self._lines else ((), (), (), ())
        lacks_time = np.array([not time for time in times_given], dtype=bool)
        given = pa.array([time or "0" for time in times_given], pa.string())
        times, time_faults = timestamps.from_number_texts(given, unit)
        times = np.where(lacks_time, NO_TIME, times)
        values, faults = _read_values(pa.array(self._numbers, pa.string()))
        repeats = np.array(counts, dtype=np.int64)
        return ParsedLines(
            names=list(self._names),
            codes=np.array(self._codes, dtype=np.intp),
            times=np.repeat(times, repeats),
            time_faults=np.repeat(time_faults, repeats),
            values=values,
            faults=faults,
            line_numbers=np.repeat(np.array(numbers, dtype=np.int64), repeats),
            assets=self.assets,
            asset_codes=np.repeat(np.array(assets, dtype=np.intp), repeats),
            line_faults=self._faults,
            faulty_lines=self._faulty_lines,
            texts=self._texts,
        )


def _split_unescaped(text: str) -> tuple[str, str, str]:
    """Name, sign and value at the first = that no backslash precedes."""
    if "\\" not in text:
        return text.partition("=")
    match = re.match(r"(?>\\.|[^=\\])++", text, re.DOTALL)
    end = match.end() if match else 0
    return _remove_escapes(text[:end]), text[end : end + 1], text[end + 1 :]


def _remove_escapes(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def _read_values(texts: pa.Array) -> tuple[Values, Faults]:
    faults = np.zeros(len(texts), dtype=np.uint8)
    try:
        values = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        fine = pc.match_substring_regex(texts, _NUMBER)
        if not pc.all(fine).as_py():
            texts = pa.array([_BOOLEANS.get(text, text) for text in texts.to_pylist()], pa.string())
            fine = pc.match_substring_regex(texts, _NUMBER)
            faults[~fine.to_numpy(zero_copy_only=False)] = error(Reason.INVALID_VALUE)
            not_finite = pc.match_substring_regex(texts, _NOT_FINITE)
            faults[not_finite.to_numpy(zero_copy_only=False)] = error(Reason.VALUE_NOT_FINITE)
        values = pc.if_else(fine, pc.utf8_rtrim(texts, characters="iu"), "0").cast(pa.float64())
    return values.to_numpy(zero_copy_only=False), faults
