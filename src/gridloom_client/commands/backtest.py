"""`gridloom backtest`: past days played again."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import REFUSED, CommandGroup, fail
from gridloom_client.commands.terminal.finding import find_id
from gridloom_client.commands.terminal.options import USUAL, CycleLimit, EachWay, Options, connect
from gridloom_client.commands.terminal.plots import plot_bars
from gridloom_client.commands.terminal.progress import pause, share_progress
from gridloom_client.commands.terminal.rendering import print_data, print_facts, print_table
from gridloom_client.commands.terminal.windows import market_day
from gridloom_client.literals import BacktestPolicy

if TYPE_CHECKING:
    from gridloom_client.answers import Backtest, BacktestDay
    from gridloom_client.client import Client

app = CommandGroup(name="backtest", group="Using the platform")


@app.default
@app.command
def run(
    start: datetime,
    end: datetime,
    *,
    power: float = 1000.0,
    energy: float = 2000.0,
    efficiency: EachWay = 0.95,
    cycles: CycleLimit = None,
    policy: BacktestPolicy = "FORECAST",
    plot: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Play past market days again with a battery, each planned on what was known the day before.

    For example:

        gridloom backtest 2026-10-01 2026-11-01 --power 10000 --energy 20000
        gridloom backtest 2026-01-01 2026-11-01 --policy YESTERDAY --cycles 1.5 --plot
        gridloom backtest list
        gridloom backtest run 2026-10-01 2026-11-01 -o csv > days.csv

    Parameters
    ----------
    start
        The first market day.
    end
        The first market day that is not played.
    power
        Charge and discharge power, kW.
    energy
        kWh.
    policy
        FORECAST, YESTERDAY, MEAN_7_DAYS, or FORESIGHT, which knows the day itself.
    plot
        Draw what each day earned as well.
    """
    from gridloom_client.inputs import BacktestBattery

    battery = BacktestBattery(
        rated_power=power,
        energy_capacity=energy,
        charge_efficiency=efficiency,
        discharge_efficiency=efficiency,
        daily_cycle_limit=cycles,
    )
    with connect(options) as client:
        made = client.backtests.create(start=start.date(), end=end.date(), policy=policy, battery=battery)
        ended = _wait_for_end(client, made)
        days = list(client.backtests.days(ended.id)) if ended.status == "DONE" else []
    _show_outcome(ended, days, plot=plot, options=options)


@app.command(name="list")
def list_(*, options: Options = USUAL) -> None:
    """List your organisation's back-tests, the newest first.

    For example:

        gridloom backtest list
    """
    with connect(options) as client:
        found = list(client.backtests.list())
    if print_data(found, options):
        return
    rows = [
        (one.id, one.status, one.policy, one.start, one.end, f"{one.earned:,.2f}", _write_percent(one.share))
        for one in found
    ]
    columns = ["ID", "Status", "Policy", "From", "Until", "Earned EUR", "Of foresight"]
    print_table("Back-tests", columns, rows, options)


@app.command
def show(backtest: str, *, plot: Annotated[bool, Parameter(negative="")] = False, options: Options = USUAL) -> None:
    """Show what came of a back-test, day by day.

    For example:

        gridloom backtest show 4f3ac221 --plot
        gridloom backtest show 4f3ac221 -o parquet > days.parquet

    Parameters
    ----------
    backtest
        Its id, or the end of it as the list shows it.
    plot
        Draw what each day earned as well.
    """
    with connect(options) as client:
        found = client.backtests.get(find_id(backtest, client.backtests.list(), "back-test"))
        days = list(client.backtests.days(found.id))
    _show_outcome(found, days, plot=plot, options=options)


def _wait_for_end(client: Client, made: Backtest) -> Backtest:
    with share_progress() as progress:
        task = progress.add_task("days played", total=1.0)
        while made.status not in ("DONE", "FAILED"):
            pause(0.5)
            made = client.backtests.get(made.id)
            progress.update(task, completed=made.progress)
    return made


def _show_outcome(ended: Backtest, days: list[BacktestDay], *, plot: bool, options: Options) -> None:
    if ended.status == "FAILED":
        fail(f"The back-test failed: {ended.failure}", REFUSED)
    if print_data(days, options):
        return
    months: dict[str, list[Any]] = {}
    for day in days:
        month = months.setdefault(f"{day.delivery_day:%Y-%m}", [0, 0.0, 0.0])
        month[0], month[1], month[2] = month[0] + 1, month[1] + day.earned, month[2] + day.foresight
    rows = [
        (name, count, f"{earned:,.2f}", f"{best:,.2f}", _write_percent(earned / best if best else None))
        for name, (count, earned, best) in months.items()
    ]
    print_table("Months", ["Month", "Days", "Earned EUR", "Foresight EUR", "Share"], rows, options)
    facts = {
        "ID": ended.id,
        "Policy": ended.policy,
        "Earned EUR": f"{ended.earned:,.2f}",
        "With foresight EUR": f"{ended.foresight:,.2f}",
        "Share": _write_percent(ended.share),
    }
    print_facts("Altogether", facts, options)
    if plot and days:
        times = [market_day(day.delivery_day)[0] for day in days]
        plot_bars("Earned EUR", times, [day.earned for day in days], utc=options.utc)


def _write_percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"
