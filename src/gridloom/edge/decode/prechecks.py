"""A look at a body before it is unpacked: what could only cost time and memory is refused for what it is.

Decoders hold the interpreter for as long as one number, cell or line is; a thread does not help others then. So what no
honest body has, a number of thousands of digits or a line of megabytes, is looked for first, slice by slice.
"""

from __future__ import annotations

import re
from typing import Final

from gridloom.kernel.problem import BadRequest, FieldError

MAX_NUMBER: Final = 40
SLICE_BYTES: Final = 256 * 1024

_AS_DIGITS: Final = bytes(ord("0" if chr(code) in "0123456789.eE+-" else " ") for code in range(256))
_LONG_RUN: Final = b"0" * (MAX_NUMBER + 1)
_TEXT_OR_LONG_NUMBER: Final = re.compile(
    rb'"(?:[^"\\\n]++|\\[^\n]?)*+"?|[0-9-][0-9.eE+-]{%d}' % MAX_NUMBER
)  # no text of JSON goes on in the next line


def reject_long_numbers(body: bytes) -> None:
    """A number in JSON has at most 40 characters. (A text may hold any: what stands in quotes is no number.)"""
    if not holds_long_run(body):
        return
    for found in _TEXT_OR_LONG_NUMBER.finditer(body):
        if body[found.start()] != ord('"'):
            detail = f"a number has at most {MAX_NUMBER} characters"
            raise BadRequest(f"The body cannot be read: {detail}.", errors=[FieldError("", detail)])


def holds_long_run(body: bytes) -> bool:
    """Whether more characters of numbers than one may have stand together anywhere, be it in a text."""
    # An expression would look at each place of a body anew, and take longer than decoding it.
    return any(
        _LONG_RUN in body[max(0, start - MAX_NUMBER) : start + SLICE_BYTES].translate(_AS_DIGITS)
        for start in range(0, len(body), SLICE_BYTES)
    )


def reject_long_lines(body: bytes, longest_bytes: int) -> None:
    """Every line of a table ends within so many bytes."""
    first = body[: longest_bytes + 2]  # with both marks of a line that ends in two
    mark = b"\n" if b"\n" in first or b"\r" not in first else b"\r"
    start = 0
    while len(body) - start > longest_bytes:
        end = body.rfind(mark, start, start + longest_bytes + 1)  # the lines that end before it are shorter still
        if end < 0:
            raise BadRequest(
                f"A line of the table is longer than {longest_bytes:,} bytes.",
                errors=[FieldError("", "a line is too long")],
            )
        start = end + 1
