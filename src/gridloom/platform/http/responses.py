"""Responses of handlers besides a plain struct."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gridloom.kernel.problem import Problem

T = TypeVar("T")

JSON = "application/json"
CSV = "text/csv"
EXCEL_CSV = "text/csv; charset=utf-8; dialect=excel"
"""CSV of `?excel=true`: a byte order mark, semicolons and decimal commas."""
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
NDJSON = "application/x-ndjson"
EVENT_STREAM = "text/event-stream"
CLOUD_EVENTS = "application/cloudevents+json"
XML = "application/xml"
HTML = "text/html"


def plain_type(media_type: str) -> str:
    """A media type without its parameters."""
    return media_type.partition(";")[0].strip()


@dataclass(frozen=True, slots=True)
class Response(Generic[T]):
    """A body with a status, headers or an entity tag of its own."""

    body: T
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str | None = None
    problem: Problem | None = None
    """In place of the body and the status, of a change of which a part was refused and the rest is committed: a problem
    that is raised undoes all of it."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a collection, and where the next ones start."""

    items: Sequence[T]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes of a media type that is not JSON."""

    body: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """A long answer, sent as it is made so that memory stays flat."""

    chunks: AsyncIterator[bytes]
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventStream:
    """Server-sent events, already framed, until the reader or the service leaves."""

    frames: AsyncIterator[bytes]
