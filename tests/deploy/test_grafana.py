"""The dashboards for customers, with Grafana's part played: each query they have is sent, and answered with what its
columns name."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from tests.people import OrganisationUnderTest

from gridloom.kernel.permission import Permission

GRAFANA = Path(__file__).parents[2] / "deploy" / "grafana"
DASHBOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))
RATED = {"ratedChargePower": 1000, "ratedDischargePower": 1000, "energyCapacity": 2000}
RATED |= {"chargeEfficiency": 1, "dischargeEfficiency": 1}
MAY_BE_EMPTY = {
    "/reference-prices",
    "/revenue-reporting/portfolios/${portfolio}/benchmark",
    "/physical-assets/${battery}/dispatch",  # until the first run of delivery
}
READING = [permission for permission in Permission if permission.startswith("Read:")]


@pytest.fixture(scope="module")
async def customer(operator: httpx2.AsyncClient, new_organisation: Any) -> OrganisationUnderTest:
    """An organisation with a fleet that is measured, and a portfolio whose asset runs now."""
    owner: OrganisationUnderTest = await new_organisation()
    battery = {"name": "Husum", "organisationID": str(owner.id), "deliveryZone": "TenneT", "parameters": RATED}
    asset = (await operator.post("/physical-assets", json=battery)).json()["id"]
    fleet = {"name": "North", "organisationID": str(owner.id), "physicalAssetIDs": [asset]}
    assert (await owner.admin.post("/fleets", json=fleet)).status_code == 201
    portfolio = (await owner.admin.post(f"/organisations/{owner.id}/portfolios", json={"name": "Coast"})).json()["id"]
    now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
    start = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    virtual = {"name": "Elbe", "start": start.isoformat(), "end": (start + timedelta(days=3)).isoformat(), **RATED}
    virtual |= {"deliveryZone": "TenneT", "backing": [{"physicalAssetID": asset, "share": 1}]}
    made = await operator.post(f"/organisations/{owner.id}/virtual-assets", json={**virtual, "portfolioID": portfolio})
    assert made.status_code == 201, made.text
    points = [{"signal": name, "time": now.isoformat(), "value": 50} for name in ("active_power", "state_of_charge")]
    assert (await owner.admin.post(f"/monitoring/{asset}/datapoints", json=points)).status_code == 200
    return owner


class TestADashboard:
    @pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
    async def test_asks_what_the_service_answers(
        self, path: Path, customer: OrganisationUnderTest, anonymous: httpx2.AsyncClient, operator: httpx2.AsyncClient
    ) -> None:
        """With a key that reads and nothing else, and a window in milliseconds that begins and ends anywhere."""
        source = provisioned(str(anonymous.base_url), await make_reading_key(customer))
        dashboard = json.loads(path.read_text())
        now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"]).astimezone(UTC)
        values = {"__from": milliseconds(now - timedelta(hours=6)), "__to": milliseconds(now + timedelta(days=2))}
        infinity = Infinity(anonymous, source["secureJsonData"]["bearerToken"])
        for variable in dashboard["templating"]["list"]:
            rows = await infinity.ask(variable["query"]["infinityQuery"], values)
            values[variable["name"]] = rows[0]["__value"]
        for panel in dashboard["panels"]:
            assert set(re.findall(r"\$\{(\w+)", json.dumps(panel))) <= set(values), panel["title"]
            for query in panel["targets"]:
                assert query["datasource"]["uid"] == source["uid"]
                rows = await infinity.ask(query, values)
                assert rows or query["url"] in MAY_BE_EMPTY, panel["title"]

    def test_is_provisioned_from_where_it_lies(self) -> None:
        providers = yaml.safe_load((GRAFANA / "provisioning" / "dashboards" / "gridloom.yaml").read_text())
        assert len({json.loads(path.read_text())["uid"] for path in DASHBOARDS}) == 2
        page = (GRAFANA.parents[1] / "docs" / "grafana.md").read_text()
        assert providers["providers"][0]["options"]["path"] in page


def milliseconds(instant: datetime) -> str:
    """As Grafana writes `${__from}`."""
    return str(int(instant.timestamp() * 1000) + 7)


async def make_reading_key(customer: OrganisationUnderTest) -> str:
    mine = (await customer.admin.get("/auth/me")).json()["permissions"]
    wish = {"name": "Grafana", "permissions": [name for name in READING if name in mine]}
    made = await customer.admin.post("/auth/api-keys", json=wish)
    assert made.status_code == 201, made.text
    secret: str = made.json()["secret"]
    return secret


def provisioned(address: str, key: str) -> dict[str, Any]:
    """The data source with what Grafana's environment says."""
    text = (GRAFANA / "provisioning" / "datasources" / "gridloom.yaml").read_text()
    source: dict[str, Any]
    (source,) = yaml.safe_load(text.replace("$GRIDLOOM_URL", address).replace("$GRIDLOOM_API_KEY", key))["datasources"]
    assert (source["jsonData"]["auth_method"], source["jsonData"]["allowedHosts"]) == ("bearerToken", [address])
    return source


@dataclass(frozen=True)
class Infinity:
    """The part of the plugin that these dashboards use."""

    http: httpx2.AsyncClient
    key: str

    async def ask(self, query: dict[str, Any], values: dict[str, str]) -> list[dict[str, Any]]:
        """The rows of a query, each with what its columns select."""

        def fill(text: str) -> str:
            return re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], text)

        options = query["url_options"]
        params = {one["key"]: fill(one["value"]) for one in options["params"]}
        headers = {one["key"]: one["value"] for one in options.get("headers", [])}
        headers["Authorization"] = f"Bearer {self.key}"
        answer = await self.http.request(options["method"], fill(query["url"]), params=params, headers=headers)
        assert answer.status_code == 200, f"{query['url']} {answer.text}"
        columns = {column["text"]: column["selector"] for column in query["columns"]}
        if query["type"] == "csv":
            table = csv.DictReader(io.StringIO(answer.text))
            assert set(columns.values()) <= set(table.fieldnames or ()), query["url"]
            return [{text: row[name] for text, name in columns.items()} for row in table]
        found = answer.json()
        rows = found if isinstance(found, list) else [found]
        return [{text: select(row, name) for text, name in columns.items()} for row in rows]


def select(row: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        row = row[name]
    return row
