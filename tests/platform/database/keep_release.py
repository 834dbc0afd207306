"""`python -m tests.platform.database.keep_release VERSION COMMIT`: keeps a database for the tests of upgrades.

A service of that commit is started on an empty database and driven through its interface; then its own `gridloom
backup` writes `tests/data/releases/VERSION.dump`. What it answered to some reads is kept beside it: the present release
must answer that too once it has restored and upgraded the dump.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench.harness import PASSWORD, USERNAME, free_port
from bench.rolling_upgrade import Service, run_migrations, settings_of, unpack_release
from tests.platform.console.journeys.scene import BERLIN, Scene, Somebody, make_scene

from gridloom.platform.database.server.embedded import EmbeddedPostgres

RELEASES = Path(__file__).parents[2] / "data" / "releases"


def main() -> None:
    version, commit = sys.argv[1:]
    RELEASES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gl-release-", dir="/tmp") as directory:
        place = Path(directory)
        place.chmod(0o711)
        sources = unpack_release(commit, place / "sources")
        postgres = EmbeddedPostgres(place / "database", settings={"fsync": "off"})
        try:
            dsn = postgres.start()
            run_migrations(sources, dsn, place)
            answers = live_through(sources, dsn, place)
            keep(sources, dsn, place, version, answers)
        finally:
            postgres.stop()


def live_through(sources: Path, dsn: str, place: Path) -> dict[str, Any]:
    """What people do with the release, and what they read of it afterwards."""
    port = free_port()
    service = Service(place, dsn, port)
    service.start(sources)
    try:
        scene = make_scene(f"http://127.0.0.1:{port}", USERNAME, PASSWORD)
        set_schedule(scene)
        return {
            person: {path: read(getattr(scene, person), path) for path in paths}
            for person, paths in reads_of(scene).items()
        }
    finally:
        service.stop()


def read(person: Somebody, path: str) -> Any:
    answer = person.client.get(path)
    assert answer.is_success, f"{path}: {answer.text}"
    return answer.json()


def set_schedule(scene: Scene) -> None:
    """Out and in again, so that the days after it stay as they are."""
    tomorrow = (scene.now.astimezone(BERLIN) + timedelta(days=1)).date()
    noon = datetime.combine(tomorrow, time(12), BERLIN)
    powers = (3000.0, -3000.0 / 0.94**2)
    points = [{"time": (noon + timedelta(minutes=15 * n)).isoformat(), "power": kw} for n, kw in enumerate(powers)]
    scene.trader.put(_schedule_path(scene), {"schedule": points})


def _schedule_path(scene: Scene) -> str:
    return f"/organisations/{scene.trader.organisation_id}/virtual-assets/{scene.virtual_asset_id}/schedule"


def reads_of(scene: Scene) -> dict[str, list[str]]:
    """By person. Nothing whose answer changes with time."""
    stade = scene.assets["Stade"]
    day = scene.now.astimezone(BERLIN).replace(hour=0, minute=0, second=0, microsecond=0)
    past, ahead = (
        _window(day + timedelta(days=first), day + timedelta(days=last)) for first, last in ((-5, 0), (1, 2))
    )
    hours = _window(scene.now.replace(microsecond=0) - timedelta(hours=3), scene.now.replace(microsecond=0))
    return {
        "owner": [
            f"/physical-assets/{stade}",
            f"/physical-assets/{stade}/logbook",
            f"/physical-assets/{stade}/unavailability",
            f"/physical-assets/{stade}/grants",
            f"/monitoring/{stade}/datapoints?{hours}&datapoints=active_power,state_of_charge&resolution=raw",
            f"/revenue-reporting/physical-assets/{stade}/data-points?{past}&resolution=daily",
            "/fleets",
        ],
        "trader": [
            f"{_schedule_path(scene)}?{ahead}",
            f"/auctions/{scene.auctions['won']}/bids",
            f"/organisations/{scene.trader.organisation_id}/virtual-assets/{scene.virtual_asset_id}",
        ],
        "operator": [
            f"/auctions/{scene.auctions['won']}/results",
            f"/settlements/wholesale-trades?asset-id={stade}&{past}",
            f"/settlements/fcr?asset-id={stade}&{past}",
            f"/reference-prices?series=DAY_AHEAD_DE_LU&{past}",
        ],
    }


def _window(start: datetime, end: datetime) -> str:
    return urlencode({"start": start.isoformat(), "end": end.isoformat()})


def keep(sources: Path, dsn: str, place: Path, version: str, answers: dict[str, Any]) -> None:
    file = RELEASES / f"{version}.dump"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "gridloom.commands.cli", "backup", str(file)]
    subprocess.run(command, env={**os.environ, **settings_of(sources, dsn, place)}, cwd=place, check=True)
    file.chmod(0o644)
    (RELEASES / f"{version}.json").write_text(json.dumps(answers, separators=(",", ":"), sort_keys=True) + "\n")
    for one in (file, file.with_suffix(".json")):
        print(f"{one.name}: {one.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
