"""Strict JSON into one type; a rejection lists every error with its pointer."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

import msgspec

from gridloom.kernel.money import is_decimal_literal
from gridloom.kernel.problem import BadRequest, FieldError
from gridloom.kernel.text import may_hold_forbidden
from gridloom.platform.http.decode.validation_errors import (
    MAX_ERRORS_LISTED,
    collect_errors,
    describe_rejection,
    holds_decimals,
)
from gridloom.platform.http.fields import escape
from gridloom.platform.http.long_bodies.slices import SLICE_BYTES, rows_of

MAX_NUMBER: Final = 40
MAX_MESSAGE: Final = 2_000

# --- numbers of thousands of digits: a decoder holds the interpreter for as long as one number is ------------------

_AS_DIGITS: Final = bytes(ord("0" if chr(code) in "0123456789.eE+-" else " ") for code in range(256))
_LONG_RUN: Final = b"0" * (MAX_NUMBER + 1)
_TEXT_OR_LONG_NUMBER: Final = re.compile(
    rb'"(?:[^"\\\n]++|\\[^\n]?)*+"?|[0-9-][0-9.eE+-]{%d}' % MAX_NUMBER
)  # no text of JSON goes on in the next line


def reject_long_numbers(body: bytes) -> None:
    """A number in JSON has at most 40 characters. (A text may hold any: what is quoted is no number.)"""
    if not holds_long_run(body):
        return
    for found in _TEXT_OR_LONG_NUMBER.finditer(body):
        if body[found.start()] != ord('"'):
            detail = f"a number has at most {MAX_NUMBER} characters"
            raise BadRequest.at("", f"The body cannot be read: {detail}.", detail)


def holds_long_run(body: bytes) -> bool:
    """Whether more characters of numbers than one may have stand together anywhere, be it in a text."""
    # An expression would look at each byte of a body anew, and take longer than decoding it.
    return any(
        _LONG_RUN in body[max(0, start - MAX_NUMBER) : start + SLICE_BYTES].translate(_AS_DIGITS)
        for start in range(0, len(body), SLICE_BYTES)
    )


# --- decoding ------------------------------------------------------------------------------------------------------

# All texts of a body without escapes; of those that Python's Decimal might read, the text itself.
_DECIMAL_TEXT: Final = re.compile(rb'"(?:([0-9+\-._eEaAfFiInNsStTyY\s]++)"|[^"]*+")')


@cache
def decoder_of(type: Any) -> Decoder:
    return Decoder(type)


class Decoder:
    """Rejects with a 400 that lists up to fifty errors, each with its pointer."""

    def __init__(self, type: Any) -> None:
        self._type = type
        self._decode = msgspec.json.Decoder(type).decode
        self._holds_decimals = holds_decimals(type)
        self._rows = rows_of(type)

    def __call__(self, body: bytes) -> Any:
        if not body:
            raise BadRequest.at("", "A JSON body is needed and none was sent.", "missing")
        reject_long_numbers(body)
        try:
            decoded = self._decode(body)
        except msgspec.ValidationError as error:
            raise self._list_errors(body, str(error)) from None
        except msgspec.DecodeError as error:
            raise BadRequest.at("", f"The body is not JSON: {error}.", str(error)) from None
        except (UnicodeDecodeError, RecursionError, ValueError):
            raise BadRequest.at("", "The body is not JSON in UTF-8.", "not JSON") from None
        if may_hold_forbidden(body) or (self._holds_decimals and _may_hold_odd_decimal(body)):
            errors = collect_errors(msgspec.json.decode(body), self._type, texts_only=True)
            if errors:
                raise _reject_body(errors)
        return decoded

    def decode_trusted(self, body: bytes) -> Any:
        """A long body that was validated already: rows slice by slice, so that the event loop runs in between."""
        found = self._rows.read(body) if self._rows is not None else None
        return self._decode(body) if found is None else found

    def _list_errors(self, body: bytes, message: str) -> BadRequest:
        """Every error of the body; the one that the decoder met is first where the walk did not reach it."""
        first = rejected_by(message, self._type)
        try:
            errors = collect_errors(msgspec.json.decode(body), self._type)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return first
        met = first.errors[0].pointer.removesuffix("/...")  # how the decoder names a key that it does not know
        if not any(error.pointer == met or error.pointer.startswith(f"{met}/") for error in errors):
            errors = [first.errors[0], *errors][:MAX_ERRORS_LISTED]
        return _reject_body(errors)


def _may_hold_odd_decimal(body: bytes) -> bool:
    """Whether a text might be a decimal in a spelling other than 1250.50; for a body in ASCII without escapes."""
    return any(text and not is_decimal_literal(text.decode()) for text in _DECIMAL_TEXT.findall(body))


def _reject_body(errors: list[FieldError]) -> BadRequest:
    more = f"; and {len(errors) - 1} more at fault, see errors" if len(errors) > 1 else ""
    return BadRequest(f"{errors[0].pointer or 'The body'}: {errors[0].detail}{more}", errors=errors)


# --- the decoder's own messages ------------------------------------------------------------------------------------

_AT_FIELD = re.compile(r"^(?P<what>.*?) - at field `(?P<field>[^`]+)`(?: - at `(?P<path>[^`]+)`)?$", re.DOTALL)
_AT_PATH = re.compile(r"^(?P<what>.*?)(?: - at (?:`key` in )?`(?P<path>[^`]+)`)?$", re.DOTALL)
_NAMED = re.compile(r"(missing required|unknown) field `(?P<field>[^`]+)`")


def rejected_by(message: str, type: Any = Any) -> BadRequest:
    """A 400 from the message of a msgspec.ValidationError about a value of the type."""
    if len(message) > MAX_MESSAGE:  # a field's name can be as long as the body
        message = f"{message[:MAX_MESSAGE]}…"
    found = _AT_FIELD.match(message) or _AT_PATH.match(message)
    assert found is not None
    what, groups = found["what"], found.groupdict()
    pointer = "".join(f"/{escape(step)}" for step in re.findall(r"[^.\[\]$]+", groups.get("path") or ""))
    named = _NAMED.search(what)
    field = groups.get("field") or (named["field"] if named else None)
    if field is not None:
        pointer = f"{pointer}/{escape(field)}"
    if named is not None:
        what = "is missing" if "missing" in what else "is not a field of this request"
    return _reject_body([FieldError(pointer, describe_rejection(what, type))])
