"""Requests and replies as plain values, and how Python's arguments become them. Nothing here touches a network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlencode
from uuid import UUID

import msgspec

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"
EXCEL_CSV: Final = "text/csv; dialect=excel"
"""CSV as Excel opens it where decimals have a comma: asked for as CSV with `?excel=true`."""
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ARROW: Final = "application/vnd.apache.arrow.stream"
PARQUET: Final = "application/vnd.apache.parquet"
EVENT_STREAM: Final = "text/event-stream"

UNSET: Final = msgspec.UNSET
"""A field that a PATCH leaves as it is; None, where it is allowed, clears the field."""
UnsetType = msgspec.UnsetType

ID: TypeAlias = UUID | str

_ACRONYMS = {"id": "ID", "ids": "IDs", "soc": "SoC"}
_SPELT = {
    "refresh_token": "refresh_token",
    "exchange_notification_ids": "exchangeNotificationIds",
    "keep_api_keys": "keepAPIKeys",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send; `target` is the path with its query, relative to the service's address."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes | None = field(default=None, repr=False)
    timeout_s: float | None = None
    """How long to wait for the answer; None is as long as the client does."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def with_headers(self, **headers: str | None) -> Request:
        """The same request with more headers; None leaves one out, `_` stands for a hyphen."""
        more = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        return replace(self, headers={**self.headers, **more})

    def asking_for(self, media_type: str) -> Request:
        """The same request for another media type."""
        if media_type != EXCEL_CSV:
            return self.with_headers(Accept=media_type)
        separator = "&" if "?" in self.target else "?"
        return replace(self.with_headers(Accept=CSV), target=f"{self.target}{separator}excel=true")

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice has the effect of sending it once."""
        if self.method in ("GET", "HEAD", "OPTIONS"):
            return True
        if self.method == "POST":
            return "Idempotency-Key" in self.headers
        # Under If-Match the second attempt would be refused on account of the first.
        return self.method == "PUT" and "If-Match" not in self.headers


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A received response; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes = field(default=b"", repr=False)

    @property
    def retry_after_s(self) -> float | None:
        try:
            return max(0.0, float(self.headers["retry-after"]))
        except (KeyError, ValueError):
            return None

    @property
    def next_query(self) -> str | None:
        """The query of the next page, from `Link: <…>; rel="next"`.

        Only the query, so that no answer can lead the caller's token to another host.
        """
        for target, parameters in re.findall(r"<([^>]*)>([^<]*)", self.headers.get("link", "")):
            if re.search(r';\s*rel="?next"?', parameters):
                return "?" + str(target).partition("?")[2]
        return None


def wire_name(name: str) -> str:
    """`physical_asset_id` → `physicalAssetID`, `final_soc_tolerance` → `finalSoCTolerance`."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in rest)


def python_name(name: str) -> str:
    """`physicalAssetID` → `physical_asset_id`; the inverse of what goes onto the wire."""
    plain = name.replace("SoC", "Soc").replace("IDs", "Ids").replace("-", "_")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain).lower()


def field_name(name: str) -> str:
    """A field's name in a body: by rule, but for the few that the contract spells otherwise."""
    return _SPELT.get(name) or wire_name(name)


OPENID_PARAMETERS: Final = frozenset({"error_description", "error_uri", "session_state"})
"""Named by OpenID Connect, not by this interface."""


def parameter_name(name: str) -> str:
    """`product_keys` → `product-keys`."""
    return name if name in OPENID_PARAMETERS else name.strip("_").replace("_", "-")


def fill_path(template: str, values: Mapping[str, object]) -> str:
    """The template with each `{name}` replaced; a value never reaches beyond its segment."""

    def fill(match: re.Match[str]) -> str:
        text = quote(str(values[match[1]]), safe="")
        if text in ("", ".", ".."):
            raise ValueError(f"{match[1]} cannot be {text!r}.")
        return text

    return re.sub(r"\{(\w+)\}", fill, template)


def query_string(values: Mapping[str, object]) -> str:
    """`?a=b` with what is given; None is left out, sequences become comma-separated lists."""
    pairs = [(name, _query_text(value)) for name, value in values.items() if value is not None and value is not UNSET]
    return "?" + urlencode(pairs, safe=",:", quote_via=quote) if pairs else ""


def _query_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return _instant_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(_query_text(item) for item in value)
    return str(value)


def _instant_text(value: datetime) -> str:
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no offset; use a timezone, such as datetime.UTC.")
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


_encoder = msgspec.json.Encoder(decimal_format="number")  # digit by digit, no binary float between


def encode_body(body: Any) -> bytes:
    """JSON of anything made of mappings, iterables, structs, times, UUIDs and decimals."""
    if isinstance(body, Iterable) and not isinstance(body, Mapping | list | tuple | str | bytes):
        body = list(body)
    return _encoder.encode(body)
