"""Telemetry: on time, late, with gaps, overwritten; and read again."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from statistics import fmean

from tests.simulation.actors.acting import on_battery
from tests.simulation.calls import Answer, Request
from tests.simulation.market import berlin_day, from_text, midnight, to_text
from tests.simulation.model import Battery, World
from tests.simulation.steps import Pick

RESOLUTIONS = ("1-minute", "15-minute", "hourly", "daily")
AGGREGATIONS: dict[str, Callable[[list[float]], float]] = {
    "avg": fmean,
    "min": min,
    "max": max,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "sum": math.fsum,
    "count": lambda values: float(len(values)),
}
SIGNALS = ("active_power", "state_of_charge", "available_energy", "temperature")


@on_battery(weight=4)
def measure(world: World, pick: Pick, battery: Battery) -> Request | None:
    return write_samples(world, pick, battery, pick.of(SIGNALS))


def write_samples(world: World, pick: Pick, battery: Battery, signal: str) -> Request | None:
    """On time, late, with gaps, over what was there."""
    start = world.now.replace(second=0, microsecond=0) - timedelta(minutes=pick.between(5, 1440))
    step = pick.one_of(60, 300, 20)
    times = [start + timedelta(seconds=step * number) for number in range(pick.between(1, 40))]
    times = [moment for moment in times if moment < world.now]
    values = [float(pick.between(-4000, 4000, 250)) if signal == "active_power" else 50.0 for _ in times]
    if not times:
        return None
    points = {signal: {"time": [to_text(moment) for moment in times], "value": values}}
    kept = battery.samples.setdefault(signal, {})
    overwritten = sum(moment in kept for moment in times)

    def check(answer: Answer) -> None:
        said = answer.body
        expected = (len(times), overwritten)
        assert (said["written"], said["overwritten"]) in (expected, (len(times) - overwritten, overwritten)), (
            f"written and overwritten {expected}, not {said['written']} and {said['overwritten']}"
        )

    def remember(_: Answer) -> None:
        kept.update(zip(times, values, strict=True))

    request = Request(
        "writeDatapoints",
        battery.owner.engineer,
        "POST",
        f"/monitoring/{battery.id}/datapoints",
        points,
        expect=200,
        on_success=remember,
        check=check,
    )
    if pick.chance(20):
        request.operation, request.path, request.body = (
            "writeDatapointsOfMany",
            "/monitoring/datapoints",
            {battery.id: points},
        )
    return request


@on_battery(weight=3)
def read_telemetry(world: World, pick: Pick, battery: Battery) -> Request | None:
    kind = pick.below(6)
    path = f"/monitoring/{battery.id}"
    if pick.below(40) == 1:
        headers = {"Accept": "text/event-stream"}
        return Request("followDatapoints", battery.owner.viewer, "GET", f"{path}/stream", headers=headers, expect=200)
    if kind == 0:
        return Request("listSignals", battery.owner.viewer, "GET", f"{path}/signals", expect=200)
    if kind == 1:
        return latest_request(battery)
    if kind == 2:
        return aggregated_request(world, battery, pick.of(RESOLUTIONS), pick.of(list(AGGREGATIONS)))
    query = {"start": to_text(world.now - timedelta(days=1)), "end": to_text(world.now)}
    if kind == 3:
        return sum_request(battery, query)
    return raw_request(world, battery, query)


def raw_request(world: World, battery: Battery, query: dict[str, str]) -> Request:
    """Every sample as it was last written."""
    start, end = from_text(query["start"]), from_text(query["end"])

    def check(answer: Answer) -> None:
        for signal, kept in battery.samples.items():
            expected = {to_text(moment): value for moment, value in kept.items() if start <= moment < end}
            said = {point["time"]: point["value"] for point in answer.body["data"].get(signal, [])}
            world.compared["telemetry"] += bool(expected)
            assert said == expected, f"{signal}: {dict(expected.items() ^ said.items())}"

    path = f"/monitoring/{battery.id}/datapoints"
    query = {**query, "resolution": "raw"}
    return Request("readDatapoints", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


def latest_request(battery: Battery) -> Request:
    def check(answer: Answer) -> None:
        for signal, kept in battery.samples.items():
            if kept:
                expected = {"time": to_text(max(kept)), "value": kept[max(kept)]}
                said = answer.body["data"].get(signal)
                assert said == expected, f"the latest {signal} {expected}, not {said}"

    path = f"/monitoring/{battery.id}/datapoints/latest"
    return Request("readLatestDatapoints", battery.owner.viewer, "GET", path, expect=200, check=check)


def sum_request(battery: Battery, query: dict[str, str]) -> Request:
    start, end = from_text(query["start"]), from_text(query["end"])

    def check(answer: Answer) -> None:
        for signal, kept in battery.samples.items():
            values = [value for moment, value in kept.items() if start <= moment < end]
            said = answer.body["data"].get(signal)
            if not values or said is None:
                assert not values or said is not None, f"a sum of {signal}"
                continue
            expected = {"count": len(values), "sum": math.fsum(values), "min": min(values), "max": max(values)}
            found = {name: said[name] for name in expected}
            assert all(math.isclose(found[name], value, abs_tol=1e-6) for name, value in expected.items()), (
                f"{signal}: {expected}, not {found}"
            )

    path = f"/monitoring/{battery.id}/datapoints/sum/detailed"
    return Request("sumDatapoints", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


def aggregated_request(world: World, battery: Battery, resolution: str, aggregation: str) -> Request:
    """Whole market days, by buckets."""
    today = berlin_day(world.now)
    start, end = midnight(today - timedelta(days=1)), midnight(today + timedelta(days=1))

    def check(answer: Answer) -> None:
        for signal, kept in battery.samples.items():
            buckets: dict[str, list[float]] = {}
            for moment in sorted(kept):
                if start <= moment < end:
                    buckets.setdefault(to_text(find_bucket(moment, resolution)), []).append(kept[moment])
            expected = {time: AGGREGATIONS[aggregation](values) for time, values in buckets.items()}
            said = {
                point["time"]: point["value"]
                for point in answer.body["data"].get(signal, [])
                if point["value"] is not None and (aggregation != "count" or point["value"])
            }
            assert said.keys() == expected.keys(), f"{signal} in {sorted(expected)}, not {sorted(said)}"
            off = {time for time in said if not math.isclose(said[time], expected[time], rel_tol=1e-6, abs_tol=1e-6)}
            assert not off, f"{aggregation} of {signal}: {[(time, expected[time], said[time]) for time in sorted(off)]}"

    query = {"start": to_text(start), "end": to_text(end), "resolution": resolution, "aggregation": aggregation}
    path = f"/monitoring/{battery.id}/datapoints"
    return Request("readDatapoints", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


def find_bucket(moment: datetime, resolution: str) -> datetime:
    """Where the bucket of a moment starts; a day is a market day."""
    if resolution == "daily":
        return midnight(berlin_day(moment))
    minutes = {"1-minute": 1, "15-minute": 15, "hourly": 60}[resolution]
    return moment.replace(minute=moment.minute // minutes * minutes, second=0, microsecond=0)
