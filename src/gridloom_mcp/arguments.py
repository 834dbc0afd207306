"""Arguments that several tools take, with the description that an assistant reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Annotated, Any, TypeAlias

from pydantic import AwareDatetime, Field

Tool: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]

BatteryName: TypeAlias = Annotated[str, Field(max_length=200, description="A battery's id, the end of it, or its name")]
OptionalBattery: TypeAlias = Annotated[
    str | None, Field(max_length=200, description="A battery's id or name; the whole organisation when left out")
]
Day: TypeAlias = Annotated[
    date | None, Field(description="Market day in Europe/Berlin, such as 2026-11-17; today when left out")
]
FirstDay: TypeAlias = Annotated[
    date | None, Field(description="First market day; six days before the last when left out")
]
LastDay: TypeAlias = Annotated[date | None, Field(description="Last market day, included; today when left out")]
Instant: TypeAlias = Annotated[
    AwareDatetime, Field(description="RFC 3339 with an offset, such as 2026-11-17T06:00:00Z")
]
LostPower: TypeAlias = Annotated[float, Field(ge=0, description="Power that is missing, kW")]
LostEnergy: TypeAlias = Annotated[float, Field(ge=0, description="Energy capacity that is missing, kWh")]
AuctionID: TypeAlias = Annotated[str, Field(max_length=36, description="The auction's id, from open_auctions")]
