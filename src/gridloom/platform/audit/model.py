"""An entry of the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

NIL_ID: Final = UUID(int=0)
"""The organisation of an unknown actor."""


class Actor(Struct, frozen=True):
    """Who acted. kind: `USER`, `API_KEY`, `ANONYMOUS` or `SYSTEM`."""

    kind: str
    organisation_id: UUID = NIL_ID
    id: UUID | None = None
    name: str | None = None


ANONYMOUS: Final = Actor("ANONYMOUS")
SEALED_ACTIONS: Final = ("placeBid", "withdrawBid", "valueAuction")
"""Operations of bidders: only their own organisation reads that they were called, the operator does not."""


class NewAuditRecord(Struct, frozen=True):
    actor: Actor
    subject_organisation_id: UUID | None
    """Another organisation that the action concerns; its administrators see the entry too."""
    action: str
    method: str
    resource: str
    status: int
    address: str | None
    request_id: str | None
    details: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class AuditRecord:
    sequence: int
    id: UUID
    occurred_at: datetime
    entry: NewAuditRecord
    organisation_name: str | None = None


@dataclass(frozen=True, slots=True)
class AuditFilter:
    start: datetime | None = None
    end: datetime | None = None
    actor_id: UUID | None = None
    resource: str | None = None
    """A path; what lies below it is meant as well."""
    action: str | None = None
