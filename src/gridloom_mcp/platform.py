"""The platform as the tools ask it: one client, batteries by name, the platform's clock, windows of market days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from gridloom_client import AsyncClient, NotFoundError
from gridloom_client.commands.terminal.windows import market_day, today
from gridloom_client.published.prices import MARKET_ZONE

MAX_DAYS: Final = 92
MAX_LISTED: Final = 500
QUARTER: Final = timedelta(minutes=15)


class ArgumentError(ValueError):
    """What was asked for cannot be; its text says what can."""


@dataclass(frozen=True, slots=True)
class Battery:
    """A virtual battery that the organisation holds, or a physical one that it may read."""

    id: UUID
    is_virtual: bool
    seen: Any


class Platform:
    """Everything the tools know of the service."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self._organisation_id: UUID | None = None

    async def organisation_id(self) -> UUID:
        if self._organisation_id is None:
            self._organisation_id = (await self.client.auth.me()).organisation_id
        return self._organisation_id

    async def now(self) -> datetime:
        """The sandbox's clock where there is one; in production the time of this machine."""
        try:
            return (await self.client.sandbox.clock()).now
        except NotFoundError:
            return datetime.now(UTC)  # noqa: TID251  # a client has no other clock

    async def day_or_today(self, day: date | None) -> date:
        return day or today(await self.now())

    async def market_day(self, day: date | None) -> tuple[datetime, datetime]:
        return market_day(await self.day_or_today(day))

    async def virtual_batteries(self) -> list[Any]:
        """Those that live or will, the first to begin first; then those of the past days, the last to end first."""
        list_assets, owner, now = self.client.virtual_assets.list, await self.organisation_id(), await self.now()
        living = await take(list_assets(owner, start=now), MAX_LISTED)
        lately = await take(list_assets(owner, start=now - timedelta(days=MAX_DAYS), end=now), MAX_LISTED)
        over = [one for one in lately if one.end <= now]
        return sorted(living, key=lambda one: one.start) + sorted(over, key=lambda one: one.end, reverse=True)

    async def physical_batteries(self) -> list[Any]:
        return await take(self.client.physical_assets.list(), MAX_LISTED)

    async def find_battery(self, text: str) -> Battery:
        """By id, the end of it, or name. No name of a battery is in the refusal."""
        listed = [Battery(one.id, True, one) for one in await self.virtual_batteries()]
        listed += [Battery(one.id, False, one) for one in await self.physical_batteries()]
        found = [one for one in listed if one.seen.name.casefold() == text.strip().casefold()]
        found = found or [one for one in listed if str(one.id).endswith(text.strip().lower())]
        found = found or await self._find_earlier(text.strip())
        if len(found) == 1:
            return found[0]
        if found:
            raise ArgumentError(f"This may be any of {', '.join(str(one.id) for one in found[:5])}: name it by its id.")
        raise ArgumentError("There is no such battery; list_batteries shows which there are.")

    async def _find_earlier(self, text: str) -> list[Battery]:
        """A virtual battery that was over before those that are listed, by its whole id."""
        try:
            seen = await self.client.virtual_assets.get(await self.organisation_id(), UUID(text))
        except (ValueError, NotFoundError):
            return []
        return [Battery(seen.id, True, seen)]

    async def find_virtual(self, text: str) -> Battery:
        found = await self.find_battery(text)
        if not found.is_virtual:
            raise ArgumentError("This is a physical battery; the job needs a virtual one that your organisation holds.")
        return found

    async def find_physical(self, text: str) -> Battery:
        found = await self.find_battery(text)
        if found.is_virtual:
            raise ArgumentError("This is a virtual battery; the job needs a physical one.")
        return found

    async def days_window(self, first_day: date | None, last_day: date | None) -> tuple[datetime, datetime]:
        """From the first day until the end of the last, which is today when left out; a week when neither is given."""
        last = await self.day_or_today(last_day)
        first = first_day or last - timedelta(days=6)
        if not 0 <= (last - first).days < MAX_DAYS:
            raise ArgumentError(f"first_day must not be after last_day, and at most {MAX_DAYS} days can be asked for.")
        return market_day(first)[0], market_day(last)[1]


async def take(items: Any, most: int) -> list[Any]:
    """The first items of a collection, without fetching the pages after them."""
    taken: list[Any] = []
    async for item in items:
        taken.append(item)
        if len(taken) == most:
            break
    return taken


def market_hour(moment: datetime) -> str:
    return moment.astimezone(MARKET_ZONE).isoformat(timespec="minutes")
