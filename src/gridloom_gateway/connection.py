"""The contract of a connection to a site: one class with three methods. MQTT and Modbus TCP are two of the kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias
from uuid import UUID


class Reading(NamedTuple):
    """A value of a signal in the platform's unit; without a time it is now."""

    signal: str
    time_us: int | None
    value: float


Deliver: TypeAlias = Callable[[Sequence[Reading], Callable[[], None]], None]
"""Takes readings, and calls back once they are on disk: only then may their sender forget them."""


class SetPoint(NamedTuple):
    """`power_kw` is None where the gateway leaves the battery to the site's own control."""

    power_kw: float | None


class SiteUnreachable(Exception):
    """The site did not take what was written; the text says why."""


class Connection(Protocol):
    """A connection goes on by itself, whatever the line does, from `start` until `stop`."""

    def start(self, deliver: Deliver) -> None: ...

    def write(self, set_point: SetPoint) -> None:
        """Raises SiteUnreachable where the site has not taken it."""

    def stop(self) -> None: ...


RejectionLog: TypeAlias = Callable[[UUID, str, str], None]
"""Counts what cannot be used of a battery, by reason and with a detail, and logs the first of each."""
