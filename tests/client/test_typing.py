"""Messages of a type checker for users of the SDK."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """\
from datetime import UTC, datetime
from decimal import Decimal

from gridloom_client import AsyncClient, Client
from gridloom_client.answers import Auction, Bid
from gridloom_client.events import ScheduleUpdated
from gridloom_client.literals import RevenueCategory
from gridloom_client.inputs import Backing, Parameters, Point

NOW = datetime(2026, 1, 1, tzinfo=UTC)
client = Client()

rated = Parameters(
    rated_charge_power=1000,
    rated_discharge_power=1000,
    energy_capacity=2000,
    charge_efficiency=0.95,
    discharge_efficiency=0.95,
)
client.physical_assets.create(name="A", organisation_id="1", delivery_zone="TenneT", parameters=rated)
client.physical_assets.create(name="A", organisation_id="1", delivery_zone="Narnia", parameters=rated)  # wrong
client.physical_assets.create(name="A", organisation_id="1", delivery_zone="TenneT")  # wrong
Parameters(rated_charge_power=1000)  # wrong
Backing(physical_asset_id="1", share="all")  # wrong

wanted: list[RevenueCategory] = ["revenue_fcr", "revenue_total_revenue"]
report = client.revenue.of_virtual_asset("1", start=NOW, end=NOW, resolution="15-minute", datapoints=wanted)
client.revenue.of_virtual_asset("1", start=NOW, end=NOW, resolution="15min")  # wrong
client.revenue.of_virtual_asset("1", start=NOW, end=NOW, datapoints=["revenue_total"])  # wrong
client.revenue.of_virtual_asset("1", start="2026-01-01", end=NOW)  # wrong
print(report.data["revenue_fcr"][0].value, report.metadata)  # wrong

bid: Bid = client.auctions.bid("1", price=Decimal("1250.50"))
client.auctions.bid("1", price=1250.5)  # wrong
client.auctions.bid("1")  # wrong
client.auctions.list(status="OPEN")  # wrong
client.auctions.value("1", basis="GUESS")  # wrong

client.virtual_assets.set_asset_schedule("1", "2", schedule=[Point(time=NOW, power=500)])
client.virtual_assets.set_asset_schedule("1", "2", schedule=[Point(time=NOW, power="much")])  # wrong
client.organisations.invite("1", email="a@example.com", role="BOSS")  # wrong
client.no_such_surface  # wrong

for points in client.monitoring.follow("1"):
    print(points.kind, points.place, [value for _, _, value in points.points()])
    print(points.datum)  # wrong
for event in client.events.follow(types=["bid.placed"]):
    print(event.time.year, event.typ)  # wrong
    if isinstance(event, ScheduleUpdated):
        print(event.data.start.year, event.data.begin)  # wrong
page = client.with_options(timeout_s=2.0).auctions.list.page(status=["RUNNING"])
auctions: list[Auction] = page.items
auctions = page.next().items  # wrong
client.with_options(timeout=2)  # wrong
client.revenue.of_fleet.table("1", start=NOW, end=NOW).to_pandas("Europe/Berlin")
client.revenue.of_fleet.table("1", start=NOW, end=NOW).to_pandas("CET")  # wrong


async def work() -> None:
    async with AsyncClient(profile="sandbox") as awaiting:
        me = await awaiting.auth.me()
        print(me.role)
        print(awaiting.auth.me().role)  # wrong
        following = await (await awaiting.with_options().auctions.list.page()).next()
        print(following.items if following else (), following.items)  # wrong
        async for points in awaiting.monitoring.follow("1"):
            print(points.kind.upper(), points.nothing)  # wrong
"""


class TestATypeChecker:
    def test_finds_every_mistake_of_a_users_script_and_no_others(self, tmp_path: Path) -> None:
        """With the project's own settings, so that what `make types` found out of the SDK is not found out again."""
        script = tmp_path / "script.py"
        script.write_text(SCRIPT)
        command = [sys.executable, "-m", "mypy", str(script)]
        checked = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
        found = {int(line) for line in re.findall(r"script\.py:(\d+): error", checked.stdout)}
        wrong = {number for number, line in enumerate(SCRIPT.splitlines(), start=1) if line.endswith("# wrong")}
        assert found == wrong, checked.stdout
