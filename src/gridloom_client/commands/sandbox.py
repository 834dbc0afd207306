"""`gridloom sandbox …`"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated

from cyclopts import Parameter, validators

from gridloom_client.commands.clock import clock
from gridloom_client.commands.terminal.asking import agree
from gridloom_client.commands.terminal.ending import REFUSED, CommandGroup
from gridloom_client.commands.terminal.ending import fail as end_with
from gridloom_client.commands.terminal.finding import find_battery
from gridloom_client.commands.terminal.history import history_text
from gridloom_client.commands.terminal.options import USUAL, BatteryName, Confirmed, Options, connect
from gridloom_client.commands.terminal.progress import pause, share_progress, waiting
from gridloom_client.commands.terminal.rendering import print_facts, print_one, show_lines

app = CommandGroup(name="sandbox", help="The sandbox: its clock, its world, starting over.", group="Using the platform")
app.command(clock)

POLL_INTERVAL_S = 2.0
QUARTER_S = 900
MAX_FAILED_HOURS = 744


@app.command
def simulator(
    *,
    running: bool | None = None,
    speed: float | None = None,
    seed: int | None = None,
    options: Options = USUAL,
) -> None:
    """Show the simulated world, or steer it.

    For example:

        gridloom sandbox simulator
        gridloom sandbox simulator --speed 96
        gridloom sandbox simulator --no-running

    Parameters
    ----------
    running
        --running lets the world move, --no-running stops it.
    speed
        1 is real time, 96 a day in a quarter of an hour.
    seed
        Which world, from the next days and the next reset on.
    """
    with connect(options, mentions_history=False) as client:
        if running is None and speed is None and seed is None:
            seen = client.sandbox.simulator()
        else:
            seen = client.sandbox.steer(running=running, speed=speed, seed=seed)
    if print_one(seen, options):
        return
    facts = {
        "Running": "yes" if seen.running else "no",
        "Time": seen.now,
        "Speed": seen.speed,
        "Seed": seen.seed,
        "History": history_text(seen),
    }
    print_facts("The simulated world", facts, options)


@app.command
def fail(
    asset: BatteryName,
    *,
    hours: Annotated[float, Parameter(validator=validators.Number(gt=0, lte=MAX_FAILED_HOURS))] = 3.0,
    share: Annotated[float, Parameter(validator=validators.Number(gt=0, lte=1))] = 1.0,
    announced: bool = False,
    options: Options = USUAL,
) -> None:
    """Have a battery of the simulated world fail on purpose, from the next quarter-hour on.

    For example:

        gridloom sandbox fail Bentwisch --hours 3
        gridloom sandbox fail Bentwisch --hours 3 --share 0.5 --announced

    Parameters
    ----------
    hours
        For how long, in quarter-hours.
    share
        Of its power that is lost; 1 is all of it.
    announced
        Its owner announces it at once; otherwise only what is measured and delivered shows it.
    """
    with connect(options) as client:
        battery = find_battery(client, asset)
        now = client.sandbox.clock().now
        start = datetime.fromtimestamp(math.floor(now.timestamp() / QUARTER_S + 1) * QUARTER_S, UTC)
        end = start + timedelta(seconds=max(1, round(hours * 3600 / QUARTER_S)) * QUARTER_S)
        ordered = {"physicalAssetID": str(battery), "start": start, "end": end, "share": share, "announced": announced}
        standing = [one for one in client.sandbox.simulator().failures if one.end > now]
        seen = client.sandbox.steer(
            failures=[
                *(
                    {
                        "physicalAssetID": str(one.physical_asset_id),
                        "start": one.start,
                        "end": one.end,
                        "share": one.share,
                        "announced": one.announced,
                    }
                    for one in standing
                ),
                ordered,
            ]
        )
    if print_one(seen, options):
        return
    says = "announced" if announced else "not announced"
    print_facts(f"{asset} fails", {"From": start, "Until": end, "Power lost": f"{share:.0%}", "Owner": says}, options)


@app.command
def wait(*, options: Options = USUAL) -> None:
    """Wait until the simulated world has played its history; at once where there is none to play.

    For example:

        gridloom sandbox wait
    """
    with connect(options, mentions_history=False) as client, share_progress() as shown:
        task = shown.add_task("history", total=1.0)
        while not (seen := client.sandbox.simulator()).history_complete:
            if seen.fault is not None or not seen.running:
                end_with(seen.fault or "The simulated world is paused: gridloom sandbox simulator --running.", REFUSED)
            shown.update(task, completed=seen.progress, description=f"history {history_text(seen)}")
            pause(POLL_INTERVAL_S)
    print("The history is complete.")


@app.command
def reset(*, yes: Confirmed = False, options: Options = USUAL) -> None:
    """Start over: every organisation but the operator's is removed, with all that is theirs.

    For example:

        gridloom sandbox reset
        gridloom sandbox reset --yes
    """
    if not agree("Remove everything but the operator's people?", yes=yes):
        print("Nothing was changed.")
        return
    with connect(options, mentions_history=False) as client, waiting("removing"):
        client.sandbox.reset()
    show_lines("The sandbox starts over.", to_stderr=options.form != "table")
