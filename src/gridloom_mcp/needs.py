"""What needs the organisation now, by deadline; what could not be asked is said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final

from gridloom_client import ProblemError
from gridloom_client.commands.terminal.windows import today
from gridloom_mcp.answers import bound, pick
from gridloom_mcp.arguments import Tool
from gridloom_mcp.platform import QUARTER, Platform, take

MAX_ASKED: Final = 20
"""Batteries that are looked at one by one."""
PAST_DAYS: Final = 3
"""For so long after its day an order without a result is a need."""


class NeedTools:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._client = platform.client
        self.reading: tuple[Tool, ...] = (self.what_needs_me,)

    async def what_needs_me(self) -> dict[str, Any]:
        """What needs the organisation now, the earliest deadline first: auctions that close, gates without an order,
        virtual batteries that end out of balance, overdue orders, batteries that are not well. It says what could not
        be asked: nothing listed means nothing only where all was asked."""
        now = await self._platform.now()
        needs: list[dict[str, Any]] = []
        missing: list[str] = []
        sources: dict[str, Callable[[datetime], Awaitable[list[dict[str, Any]]]]] = {
            "auctions": self._closing_auctions,
            "markets of tomorrow": self._gates_without_order,
            "balance at the end of life": self._unbalanced,
            "orders": self._overdue_orders,
            "health of batteries": self._unwell,
        }
        for name, ask in sources.items():
            try:
                needs += await ask(now)
            except ProblemError as problem:
                missing.append(f"{name}: {problem.status} {problem.name}")
        needs.sort(key=lambda need: need.get("deadline") or datetime.max.replace(tzinfo=now.tzinfo))
        return {"now": now, "needs": bound(needs), "couldNotAsk": missing}

    async def _closing_auctions(self, _now: datetime) -> list[dict[str, Any]]:
        running = await take(self._client.auctions.list(status="RUNNING"), 100)
        return [
            {"what": "An auction closes", "deadline": one.end, "auctionID": one.id, **pick(one, "currentBid")}
            for one in running
        ]

    async def _gates_without_order(self, now: datetime) -> list[dict[str, Any]]:
        organisation_id = await self._platform.organisation_id()
        tomorrow = today(now) + timedelta(days=1)
        living = [
            one for one in await self._platform.virtual_batteries() if one.start <= now + timedelta(days=1) < one.end
        ]
        needs = []
        for one in living[:MAX_ASKED]:
            stages = await self._client.markets.day(organisation_id, one.id, delivery_day=tomorrow)
            needs += [
                {
                    "what": "A gate without an order",
                    "deadline": stage.gate,
                    **pick(stage, "stage"),
                    **pick(one, "id", "name"),
                }
                for stage in stages
                if stage.status == "NEXT" and stage.gate is not None and stage.order_id is None
            ]
        return needs

    async def _unbalanced(self, now: datetime) -> list[dict[str, Any]]:
        needs = []
        for one in await self._platform.virtual_batteries():
            gate = one.end - QUARTER - timedelta(seconds=one.dispatch_gate_closure_seconds)
            off = max(one.imbalance_charge, one.imbalance_discharge)
            if gate > now and off > one.final_soc_tolerance * one.energy_capacity:
                what = "A virtual battery ends out of balance (kWh)"
                needs.append({"what": what, "deadline": gate, "off": off, **pick(one, "id", "name", "feedback")})
        return needs

    async def _overdue_orders(self, now: datetime) -> list[dict[str, Any]]:
        """Of the delivery days around today: the list of all orders begins with the oldest ones."""
        organisation_id, needs = await self._platform.organisation_id(), list[dict[str, Any]]()
        for days in range(-PAST_DAYS, 2):
            day = today(now) + timedelta(days=days)
            orders = await take(self._client.markets.orders(organisation_id, delivery_day=day), 200)
            needs += [
                {
                    "what": "An order has no result",
                    "orderID": one.id,
                    **pick(one, "stage", "deliveryDay", "virtualAssetID"),
                }
                for one in orders
                if one.status == "OVERDUE"
            ]
        return needs

    async def _unwell(self, now: datetime) -> list[dict[str, Any]]:
        needs = []
        for one in (await self._platform.physical_batteries())[:MAX_ASKED]:
            health = await self._client.physical_assets.health(one.id)
            if health.status != "OK" or health.conflicts:
                checks = [check.name for check in health.checks if check.status != "OK"]
                fields = {"conflicts": len(health.conflicts), "kind": checks}
                needs.append(
                    {"what": "A battery is not well", **pick(one, "id", "name"), **pick(health, "status"), **fields}
                )
        return needs
