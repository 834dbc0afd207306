"""Long bodies in slices: a decoder holds the interpreter for as long as its input is, and all other requests wait.

A thread that reads slice after slice lets the event loop run in between. The cuts are guesses at where one row ends and
the next begins. A wrong guess leaves a slice that is no JSON by itself, so it shows, and the body is read in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from gridloom.kernel.problem import BadRequest

T = TypeVar("T")

SLICE_BYTES: Final = 256 * 1024
"""A few milliseconds of decoding."""

_BETWEEN_ROWS: Final = re.compile(rb"\}\s*,\s*\{")


def decode_in_batches(
    body: bytes, read: Callable[[bytes], T], *, lines: bool, slice_bytes: int = SLICE_BYTES
) -> list[T]:
    """The results of `read` on the slices of a JSON array of objects, or of objects one a line, in their order.

    A body that has to be read in one piece gives a single result. A slice that is JSON, but not of the wanted shape, is
    refused by `read` in its own words, with positions that count from the slice's beginning.
    """
    try:
        return [read(piece) for piece in (_line_slices if lines else _array_slices)(body, slice_bytes)]
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [read(body)]


def count_in_slices(body: bytes, mark: bytes, slice_bytes: int = 16 * SLICE_BYTES) -> int:
    """How often a mark occurs in a body: the precheck of a body that is not worth decoding."""
    beyond = slice_bytes + len(mark) - 1
    return sum(body.count(mark, start, start + beyond) for start in range(0, len(body), slice_bytes))


def reject_long_lines(body: bytes, longest_bytes: int) -> None:
    """Every line of a body ends within so many bytes."""
    first = body[: longest_bytes + 2]  # with both marks of a line that ends in two
    mark = b"\n" if b"\n" in first or b"\r" not in first else b"\r"
    start = 0
    while len(body) - start > longest_bytes:
        end = body.rfind(mark, start, start + longest_bytes + 1)  # the lines that end before it are shorter still
        if end < 0:
            raise BadRequest.at("", f"A line is longer than {longest_bytes:,} bytes.", "a line is too long")
        start = end + 1


def _line_slices(body: bytes, slice_bytes: int) -> Iterator[bytes]:
    start = 0
    while start + slice_bytes < len(body) and (end := body.find(b"\n", start + slice_bytes) + 1):
        yield body[start:end]
        start = end
    yield body[start:]


def _array_slices(body: bytes, slice_bytes: int) -> Iterator[bytes]:
    """Each an array of its own: the comma between two rows goes, and brackets come."""
    start, opening = 0, b""
    while start + slice_bytes < len(body) and (gap := _BETWEEN_ROWS.search(body, start + slice_bytes)):
        yield opening + body[start : gap.start() + 1] + b"]"
        start, opening = gap.end() - 1, b"["
    yield opening + body[start:]


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads bodies that are a list of structs, or a struct that holds such a list and nothing else."""

    struct: type[msgspec.Struct] | None
    field: str
    opening: re.Pattern[bytes]
    decode: Callable[[bytes], list[Any]]

    def read(self, body: bytes) -> Any:
        """The rows of a valid body; None where it has to be read in one piece."""
        opening, end = self.opening.match(body), body.rfind(b"]") + 1
        if opening is None or not end:
            return None
        try:
            slices = decode_in_batches(body[opening.end() : end], self.decode, lines=False)
        except (msgspec.DecodeError, UnicodeDecodeError):  # the bracket was not the end of the list
            return None
        rows = [row for some in slices for row in some]
        return rows if self.struct is None else self.struct(**{self.field: rows})


def rows_of(hint: Any) -> RowReader | None:
    """The reader of a body's type; None where it is not made of rows."""
    plain, struct, field, opening = _strip_annotation(hint), None, "", rb"\s*(?=\[)"
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        struct, fields = plain, msgspec.structs.fields(plain)
        if len(fields) != 1:
            return None
        field, opening = fields[0].name, rb'\s*\{\s*"%s"\s*:\s*(?=\[)' % fields[0].encode_name.encode()
        plain = _strip_annotation(get_type_hints(plain, include_extras=True)[field])
    item = _strip_annotation(get_args(plain)[0]) if get_origin(plain) is list else None
    if not (isinstance(item, type) and issubclass(item, msgspec.Struct)):
        return None
    return RowReader(struct, field, re.compile(opening), msgspec.json.Decoder(list[item]).decode)  # type: ignore[valid-type]


def _strip_annotation(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint
