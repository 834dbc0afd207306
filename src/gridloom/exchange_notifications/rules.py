"""Rules of market messages, and how their parts complete each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from uuid import UUID

from msgspec import UNSET, UnsetType

from gridloom.exchange_notifications.message import CapacityInterval, MarketMessage, ReasonCode, UnavailabilityType
from gridloom.exchange_notifications.model import NewCapacityInterval
from gridloom.kernel.figures import kw, say
from gridloom.kernel.market_time import EPOCH
from gridloom.kernel.problem import BadRequest, Conflict, FieldError, Unprocessable
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.platform.http.fields import LATEST

MAX_VERSIONS = 999
MAX_REMARKS_CHARACTERS = 500
_MINUTE = timedelta(minutes=1)


class CapacityMismatch(Unprocessable, title="The capacities do not add up"):
    """Available and unavailable capacity do not add up to the installed capacity, or one of them exceeds it.

    Where capacity intervals are given, the message's own unavailable capacity is the most in any of them.
    """


class IntervalsDoNotCoverEvent(Unprocessable, title="The intervals do not cover the event"):
    """The capacity intervals must follow each other without gap or overlap from the event's start to its end."""


class AssetEicMissing(Unprocessable, title="The asset has no EIC"):
    """A market message names the asset by its EIC. Give it in the request, or give the asset one."""


class UnknownUnavailabilities(Unprocessable, title="The asset has no such unavailabilities"):
    """Some of the unavailabilities do not exist, or belong to another asset. `errors` names them."""


class RemarksTooLong(Unprocessable, title="The remarks do not fit the documents"):
    """Documents have one field of 500 characters for the remarks and for how sure the end is, and together they are
    longer."""


class NotificationClosed(Conflict, title="The message is closed"):
    """The message was withdrawn or is over, so it takes no more revisions. Publish a new one."""


class MessageIdTaken(Conflict, title="The message id is taken"):
    """The asset has another notification with this message id. A change of a message is a revision of it."""


def event_window(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """In whole minutes, as messages are written: the start down, the end up, so that nothing of the event is lost."""
    if start >= end:
        raise BadRequest.at("/eventEnd", "The event ends before it starts.", "is not after the start")
    last = minute_up(end)
    if last >= LATEST:
        detail = "is, in whole minutes, beyond the year 2199"
        raise BadRequest.at("/eventEnd", f"The event's end {detail}.", detail)
    return minute_down(start), last


def minute_down(instant: datetime) -> datetime:
    return instant - (instant - EPOCH) % _MINUTE


def minute_up(instant: datetime) -> datetime:
    return instant + (EPOCH - instant) % _MINUTE


def default_reason(unavailability_type: UnavailabilityType) -> ReasonCode:
    if unavailability_type is UnavailabilityType.PLANNED:
        return ReasonCode.FORESEEN_MAINTENANCE
    return ReasonCode.FAILURE


def available_capacity_kw(
    installed_kw: float, unavailable_kw: float, given_kw: float | UnsetType, pointer: str = ""
) -> float:
    """Installed less unavailable capacity, in decimals as they are written; a given value must be the same."""
    if unavailable_kw > installed_kw:
        detail = say("{} are more than the {} that are installed.", kw(unavailable_kw), kw(installed_kw))
        raise CapacityMismatch.at(f"{pointer}/unavailableCapacity", detail)
    rest_kw = float(Decimal(repr(installed_kw)) - Decimal(repr(unavailable_kw)))
    if given_kw is not UNSET and abs(given_kw - rest_kw) > POWER_TOLERANCE_KW:
        detail = say(
            "{} available and {} unavailable are not {} installed.", kw(given_kw), kw(unavailable_kw), kw(installed_kw)
        )
        raise CapacityMismatch.at(f"{pointer}/availableCapacity", detail)
    return rest_kw


def check_peak_capacity(unavailable_kw: float, intervals: Sequence[CapacityInterval]) -> None:
    """The documents hold the intervals alone, so the message says of them what they say."""
    most_kw = max(interval.unavailable_capacity_kw for interval in intervals)
    if abs(unavailable_kw - most_kw) > POWER_TOLERANCE_KW:
        detail = say("{} are unavailable, and {} are the most in any interval.", kw(unavailable_kw), kw(most_kw))
        raise CapacityMismatch.at("/unavailableCapacity", detail)


def intervals_of(
    given: Sequence[NewCapacityInterval], start: datetime, end: datetime, installed_kw: float
) -> list[CapacityInterval]:
    """The given intervals in whole minutes, once they follow each other from the event's start to its end.

    Where two meet within a minute, the later one begins with it, so that each second is in one of them.
    """
    intervals = []
    ends = [*(minute_down(one.end) for one in given[:-1]), minute_up(given[-1].end)]
    for position, interval in enumerate(given):
        pointer = f"/capacityIntervals/{position}"
        if interval.start >= interval.end:
            raise BadRequest.at(f"{pointer}/end", "An interval ends before it starts.", "is not after the start")
        rest_kw = available_capacity_kw(
            installed_kw, interval.unavailable_capacity, interval.available_capacity, pointer
        )
        intervals.append(
            CapacityInterval(minute_down(interval.start), ends[position], rest_kw, interval.unavailable_capacity)
        )
        if intervals[-1].start >= intervals[-1].end:
            _reject_interval(position, "end", "is shorter than a minute")
    if intervals[0].start != start:
        _reject_interval(0, "start", "does not start with the event")
    if intervals[-1].end != end:
        _reject_interval(len(intervals) - 1, "end", "does not end with the event")
    for position, (one, next_one) in enumerate(pairwise(given), start=1):
        if one.end != next_one.start:
            _reject_interval(position, "start", "does not start where the one before ends")
    return intervals


def _reject_interval(position: int, edge: str, detail: str) -> None:
    raise IntervalsDoNotCoverEvent.at(
        f"/capacityIntervals/{position}/{edge}", f"The interval {position} {detail}.", detail
    )


def check_remarks(message: MarketMessage) -> None:
    length = len(message.full_remarks or "")
    if length <= MAX_REMARKS_CHARACTERS:
        return
    pointer = "/durationUncertainty" if message.duration_uncertainty is not None else "/remarks"
    detail = f"Remarks and uncertainty make {length} characters together, more than {MAX_REMARKS_CHARACTERS}."
    raise RemarksTooLong.at(pointer, detail)


def check_unavailabilities(given: Sequence[UUID], known: set[UUID]) -> None:
    faults = [
        FieldError(f"/unavailabilityIDs/{position}", f"{unavailability_id} is not an unavailability of this asset")
        for position, unavailability_id in enumerate(given)
        if unavailability_id not in known
    ]
    if faults:
        raise UnknownUnavailabilities("; ".join(error.detail for error in faults) + ".", errors=faults)
