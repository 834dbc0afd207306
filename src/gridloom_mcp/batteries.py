"""Tools on batteries: which there are, how they are, what they do on a day, what an outage would do, telemetry."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from gridloom_client import ProblemError
from gridloom_client.literals import UnavailabilityKind
from gridloom_mcp.answers import bound, join_runs, pick
from gridloom_mcp.arguments import BatteryName, Day, Instant, LostEnergy, LostPower, Tool
from gridloom_mcp.platform import ArgumentError, Battery, Platform

MAX_SIGNALS: Final = 40
MAX_TELEMETRY_DAYS: Final = 31
_RATINGS: Final = ("ratedChargePower", "ratedDischargePower", "energyCapacity")


class BatteryTools:
    """Power in kW, export (discharging) positive; energy in kWh."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._client = platform.client
        self.reading: tuple[Tool, ...] = (
            self.list_batteries,
            self.battery_state,
            self.day_schedule,
            self.outage_preview,
            self.telemetry_summary,
        )

    async def list_batteries(self) -> dict[str, Any]:
        """Virtual batteries that the organisation holds and physical ones that it may read; ratings in kW and kWh."""
        virtual = [
            pick(one, "id", "name", "deliveryZone", "start", "end", *_RATINGS)
            for one in await self._platform.virtual_batteries()
        ]
        physical = [
            pick(one, "id", "name", "deliveryZone", "status") | pick(one.parameters, *_RATINGS)
            for one in await self._platform.physical_batteries()
        ]
        return {"units": "kW, kWh", "virtual": bound(virtual), "physical": bound(physical)}

    async def battery_state(self, battery: BatteryName) -> dict[str, Any]:
        """How a battery is now: stored energy, ratings, availability, and what is wrong or out of balance."""
        found = await self._platform.find_battery(battery)
        return await (self._state_of_virtual(found) if found.is_virtual else self._state_of_physical(found))

    async def _state_of_virtual(self, found: Battery) -> dict[str, Any]:
        organisation_id = await self._platform.organisation_id()
        energy = await self._client.virtual_assets.state_of_energy(organisation_id, found.id)
        fields = ("id", "name", "start", "end", "deliveryZone", "availableEnergyCapacity", "feedback", *_RATINGS)
        ends = ("endStateOfChargePercentage", "imbalanceCharge", "imbalanceDischarge")
        return {
            "units": "kW, kWh, state of charge in percent",
            "kind": "VIRTUAL",
            **pick(found.seen, *fields),
            "now": pick(energy, "time", "energy", "stateOfChargePercentage"),
            "atTheEndOfItsLife": pick(found.seen, *ends),
        }

    async def _state_of_physical(self, found: Battery) -> dict[str, Any]:
        health = await self._client.physical_assets.health(found.id)
        conflicts = [pick(one, "kind", "start", "end", "power", "available") for one in health.conflicts]
        return {
            "units": "kW, kWh, state of charge 0 to 1",
            "kind": "PHYSICAL",
            **pick(found.seen, "id", "name", "deliveryZone"),
            **pick(found.seen.parameters, *_RATINGS),
            **pick(health, "status", "lastTelemetryAt", "stateOfCharge", "availablePower"),
            "checks": [pick(one, "status", "detail") | {"kind": one.name} for one in health.checks],
            "outagesNow": len(health.active_unavailability_ids),
            "conflicts": bound(conflicts, 20),
        }

    async def day_schedule(self, battery: BatteryName, day: Day = None) -> dict[str, Any]:
        """What a battery does on a market day, and what that is worth.

        Runs of equal power in kW. A virtual battery's day has its state of charge in percent, what its markets earned
        in EUR, and the schedule's value at the forecast of day-ahead prices.
        """
        found = await self._platform.find_battery(battery)
        wanted = await self._platform.day_or_today(day)
        start, end = await self._platform.market_day(wanted)
        answer = {"units": "kW, EUR, state of charge in percent", "day": wanted, **pick(found.seen, "id", "name")}
        if not found.is_virtual:
            dispatch = await self._client.physical_assets.dispatch(found.id, start=start, end=end)
            return answer | {"kind": "PHYSICAL", "dispatched": bound(join_runs(dispatch.dispatch), 100)}
        organisation_id = await self._platform.organisation_id()
        start, end = max(start, found.seen.start), min(end, found.seen.end)
        if start >= end:
            raise ArgumentError(
                "The battery does not live on that day; battery_state says from when until when it does."
            )
        schedule = await self._client.virtual_assets.asset_schedule(organisation_id, found.id, start=start, end=end)
        charges = await self._client.virtual_assets.state_of_charge(organisation_id, found.id, start=start, end=end)
        stages = await self._client.markets.day(organisation_id, found.id, delivery_day=wanted)
        return answer | {
            "kind": "VIRTUAL",
            "schedule": bound(join_runs(schedule.schedule), 100),
            "stateOfCharge": _summarise_charges(charges),
            "earned": sum(stage.earned for stage in stages),
            "valueAtForecast": await self._value_at_forecast(schedule.schedule, wanted),
        }

    async def _value_at_forecast(self, points: Any, day: Any) -> float | None:
        """EUR at the median forecast; None where there is none for the day."""
        try:
            forecast = await self._client.forecasts.day_ahead(delivery_day=day)
        except ProblemError:
            return None
        prices = {point.time: point.p50 for point in forecast.forecast}
        return sum((point.power / 1000 / 4 * prices.get(point.time, 0.0) for point in points), 0.0)

    async def outage_preview(
        self,
        battery: BatteryName,
        start: Instant,
        end: Instant,
        charge_power: LostPower,
        discharge_power: LostPower,
        energy_capacity: LostEnergy = 0,
        kind: UnavailabilityKind = "MAINTENANCE",
    ) -> dict[str, Any]:
        """What an outage of a physical battery would do: who would lose what, and which schedules would be cut. Changes
        nothing. kW and kWh of what would be missing."""
        found = await self._platform.find_physical(battery)
        volume = {
            "energyCapacity": energy_capacity,
            "powerCapacity": {"charge": charge_power, "discharge": discharge_power},
        }
        seen = await self._client.physical_assets.preview_unavailability(
            found.id, description="Preview", type=kind, start=start, end=end, volume=volume
        )
        holders = ("kind", "before", "after", "energyBefore", "energyAfter", "virtualAssetID", "organisationName")
        cuts = [
            pick(cut, "virtualAssetID", "timestamp", "acceptedSchedule", "adjustedSchedule", "reason")
            for cut in seen.expected_cuts
        ]
        return {
            "units": "kW, kWh",
            **pick(seen, "free", "cut", "unreachableEnergy"),
            "holders": bound([pick(one, *holders) for one in seen.holders], 20),
            "expectedCuts": bound(cuts, 40),
        }

    async def telemetry_summary(
        self,
        battery: BatteryName,
        start: Instant,
        end: Instant,
        signals: Annotated[
            list[str] | None, Field(max_length=MAX_SIGNALS, description="Names; all when left out")
        ] = None,
    ) -> dict[str, Any]:
        """Telemetry of a physical battery in figures: least, mean and greatest value of each signal, energy of powers
        in kWh and cycles. At most 31 days."""
        found = await self._platform.find_physical(battery)
        if (end - start).days > MAX_TELEMETRY_DAYS:
            raise ArgumentError(f"At most {MAX_TELEMETRY_DAYS} days can be summed up at once.")
        sums = await self._client.monitoring.sums(found.id, datapoints=signals, start=start, end=end)
        fields = ("unit", "count", "min", "mean", "max", "energyCharged", "energyDischarged", "cycles")
        rows = [{"signal": name, **pick(figures, *fields)} for name, figures in sorted(sums.data.items())]
        return {
            "units": "of each signal; energies in kWh",
            "start": start,
            "end": end,
            "signals": bound(rows, MAX_SIGNALS),
        }


def _summarise_charges(points: Any) -> dict[str, Any]:
    shares = [point.state_of_charge_percentage for point in points]
    return {"first": shares[0], "least": min(shares), "greatest": max(shares), "last": shares[-1]} if shares else {}
