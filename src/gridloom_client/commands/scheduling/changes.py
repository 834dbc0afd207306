"""Putting a schedule: the changes and where they lead, shown before the user confirms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from gridloom_client.commands.scheduling.points import changed_points
from gridloom_client.commands.terminal.asking import agree
from gridloom_client.commands.terminal.finding import Holding
from gridloom_client.commands.terminal.options import Options
from gridloom_client.commands.terminal.rendering import count_text, instant_text, print_data, print_table, show_lines
from gridloom_client.errors import ProblemError, UnprocessableError

if TYPE_CHECKING:
    from gridloom_client.answers import VirtualAsset
    from gridloom_client.client import Client
    from gridloom_client.inputs import Point

Unit: TypeAlias = Annotated[Literal["kW", "MW"], Parameter(help="kW or MW: what the powers are in.")]
PlanFile: TypeAlias = Annotated[
    Path | None, Parameter(help="Two columns, time and power; standard input when left out.")
]
QUARTER = timedelta(minutes=15)
TARGET = 0.5
_MAX_SHOWN = 24


def put_points(
    client: Client,
    found: Holding,
    points: Sequence[Point],
    *,
    yes: bool,
    options: Options,
    if_match: str | None = None,
) -> None:
    """Show what changes, ask, put it under the ETag that was seen, and say what the service says of the balance."""
    stored, etag = read_stored(client, found, points)
    changed = changed_points(points, stored)
    is_shown = options.form == "table"
    if is_shown:
        seen = client.virtual_assets.get(found.organisation_id, found.id)
        show_changes(changed, stored, options)
        if changed:
            show_lines(foresee_end(seen, stored, changed))
    if not changed or not agree("Put this schedule?", yes=yes):
        show_lines("Nothing was changed.", to_stderr=not is_shown)
        return
    try:
        answer = client.virtual_assets.set_asset_schedule(
            found.organisation_id, found.id, schedule=changed, if_match=if_match or etag
        )
    except UnprocessableError as refusal:
        hint = " gridloom schedule repair finds the nearest schedule that works."
        raise _add_hint(refusal, hint) from None
    if not print_data([answer], options):
        done = "was put." if len(changed) == 1 else "were put."
        show_lines(f"{count_text(len(changed), 'quarter-hour')} {done}", answer.imbalance.feedback)
        cuts = [
            (cut.timestamp, cut.accepted_schedule, cut.adjusted_schedule, cut.reason) for cut in answer.expected_cuts
        ]
        if cuts:
            print_table("Cuts to expect", ["Time", "Asked kW", "Left kW", "Reason"], cuts, options)


def show_changes(changed: Sequence[Point], stored: Mapping[datetime, float], options: Options) -> None:
    if not changed:
        return
    rows: list[tuple[Any, ...]] = [(point.time, stored.get(point.time), point.power) for point in changed]
    print_table("Changes", ["Time", "Stored kW", "New kW"], rows[:_MAX_SHOWN], options)
    if len(rows) > _MAX_SHOWN:
        until = instant_text(changed[-1].time, utc=options.utc)
        show_lines(f"… and {len(rows) - _MAX_SHOWN} more, until {until}.")


def foresee_end(asset: VirtualAsset, stored: Mapping[datetime, float], changed: Sequence[Point]) -> str:
    """Where the changes lead: E' = E + ¼ · (charge · η_c − discharge / η_d), before any limit cuts in."""
    moved_kwh = sum(
        _stored_kwh(asset, point.power) - _stored_kwh(asset, stored.get(point.time, 0.0)) for point in changed
    )
    end_kwh = asset.end_state_of_charge_percentage / 100 * asset.energy_capacity + moved_kwh
    share = end_kwh / asset.energy_capacity
    off_kwh = end_kwh - TARGET * asset.energy_capacity
    if abs(off_kwh) <= asset.final_soc_tolerance * asset.energy_capacity:
        return f"With this the battery ends its life at {share:.1%}: balanced."
    side = "above" if off_kwh > 0 else "below"
    return f"With this the battery ends its life at {share:.1%}, {abs(off_kwh):,.0f} kWh {side} the balance of 50%."


def _stored_kwh(asset: VirtualAsset, power_kw: float) -> float:
    """The energy that a quarter-hour of power adds to the store; negative when it discharges."""
    if power_kw < 0:
        return -power_kw * asset.charge_efficiency / 4
    return -power_kw / asset.discharge_efficiency / 4


def read_stored(client: Client, found: Holding, points: Sequence[Point]) -> tuple[dict[datetime, float], str | None]:
    window = {"start": points[0].time, "end": points[-1].time + QUARTER}
    before = client.virtual_assets.asset_schedule.answer(found.organisation_id, found.id, **window)
    return {point.time: point.power for point in before.value.schedule}, before.etag


def _add_hint(refusal: ProblemError, hint: str) -> ProblemError:
    refusal.args = (f"{refusal}{hint}",)
    return refusal
