"""A market message as a value: what one version of a notification says, whatever it is written in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

UNCERTAINTY: Final = "Duration uncertainty: "


class EventStatus(StrEnum):
    """ACTIVE holds; DISMISSED was superseded or withdrawn; INACTIVE is over."""

    ACTIVE = "ACTIVE"
    DISMISSED = "DISMISSED"
    INACTIVE = "INACTIVE"


class UnavailabilityType(StrEnum):
    PLANNED = "PLANNED"
    UNPLANNED = "UNPLANNED"


class UmmEventType(StrEnum):
    """The kind of event for REMIT; storage reports as OTHER_UNAVAILABILITY."""

    PRODUCTION_UNAVAILABILITY = "PRODUCTION_UNAVAILABILITY"
    CONSUMPTION_UNAVAILABILITY = "CONSUMPTION_UNAVAILABILITY"
    TRANSMISSION_UNAVAILABILITY = "TRANSMISSION_UNAVAILABILITY"
    OTHER_UNAVAILABILITY = "OTHER_UNAVAILABILITY"


class ReasonCode(StrEnum):
    """ENTSO-E's codes for why: failure, foreseen maintenance, shutdown, redispatch, reserve unit unavailable."""

    FAILURE = "B18"
    FORESEEN_MAINTENANCE = "B19"
    SHUTDOWN = "B20"
    REDISPATCH = "B55"
    RESERVE_UNIT = "B59"


class UnitType(StrEnum):
    """The ENTSO-E document for it: A80 for a generation unit, A77 for a production unit."""

    GENERATION_UNIT = "GENERATION_UNIT"
    PRODUCTION_UNIT = "PRODUCTION_UNIT"


class CodeScheme(StrEnum):
    """By what a market participant is known: its ACER code or its EIC."""

    ACE = "ace"
    EIC = "eic"


@dataclass(frozen=True, slots=True)
class ParticipantCode:
    scheme: CodeScheme
    code: str


@dataclass(frozen=True, slots=True)
class DocumentReceiver:
    """To whom documents for ENTSO-E are addressed."""

    eic: str


@dataclass(frozen=True, slots=True)
class CapacityInterval:
    """An interval of the event over which the same capacity is available."""

    start: datetime
    end: datetime
    available_capacity_kw: float
    unavailable_capacity_kw: float


@dataclass(frozen=True, slots=True)
class MarketMessage:
    """One version of a message. Instants are whole minutes; `intervals` follow each other from start to end."""

    message_id: str
    version: int
    event_status: EventStatus
    unavailability_type: UnavailabilityType
    event_type: UmmEventType
    reason_code: ReasonCode
    unit_type: UnitType
    asset_name: str
    asset_eic: str
    bidding_zone: str
    participant_name: str
    participant_code: ParticipantCode | None
    participant_eic: str | None
    """The publisher's code for ENTSO-E, whatever its code elsewhere."""
    installed_capacity_kw: float
    intervals: tuple[CapacityInterval, ...]
    start: datetime
    end: datetime
    duration_uncertainty: str | None
    cause: str
    remarks: str | None
    published_at: datetime

    @property
    def full_remarks(self) -> str | None:
        """With how sure the end is, in a last line: documents have one field for both."""
        if self.duration_uncertainty is None:
            return self.remarks
        line = f"{UNCERTAINTY}{self.duration_uncertainty}"
        return line if self.remarks is None else f"{self.remarks}\n{line}"
