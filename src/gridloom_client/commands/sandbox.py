"""`gridloom sandbox …`"""

from __future__ import annotations

import time

from gridloom_client.commands.clock import clock
from gridloom_client.commands.terminal.asking import agree
from gridloom_client.commands.terminal.ending import REFUSED, CommandGroup, fail
from gridloom_client.commands.terminal.history import history_text
from gridloom_client.commands.terminal.options import USUAL, Confirmed, Options, connect
from gridloom_client.commands.terminal.progress import share_progress, waiting
from gridloom_client.commands.terminal.rendering import print_facts, print_one, show_lines

app = CommandGroup(name="sandbox", help="The sandbox: its clock, its world, starting over.", group="Using the platform")
app.command(clock)

POLL_INTERVAL_S = 2.0


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
def wait(*, options: Options = USUAL) -> None:
    """Wait until the simulated world has played its history; at once where there is none to play.

    For example:

        gridloom sandbox wait
    """
    with connect(options, mentions_history=False) as client, share_progress() as shown:
        task = shown.add_task("history", total=1.0)
        while not (seen := client.sandbox.simulator()).history_complete:
            if seen.fault is not None or not seen.running:
                fail(seen.fault or "The simulated world is paused: gridloom sandbox simulator --running.", REFUSED)
            shown.update(task, completed=seen.progress, description=f"history {history_text(seen)}")
            time.sleep(POLL_INTERVAL_S)
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
