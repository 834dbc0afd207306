"""Every operation that answers tables gives the same one in every format, and refuses what is no format of its own."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from functools import cache

import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.samples import Sampler

from gridloom.app import ROUTE_MODULES
from gridloom.kernel.ids import uuid7
from gridloom.optimiser.backtests.model import Backtest
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import Policy
from gridloom.optimiser.backtests.store import insert_backtest
from gridloom.platform.http import operations_of
from gridloom.platform.http.responses import ARROW, CSV, JSON, PARQUET, XLSX
from gridloom.platform.identity.permissions import Role

OPERATIONS = operations_of(*ROUTE_MODULES)
TABULAR = [
    operation
    for operation in OPERATIONS
    if {ARROW, XLSX} & {*operation.produces} and not operation.path.endswith("{statementID}")
]
START, END = "2030-01-01T00:00:00Z", "2030-02-01T00:00:00Z"
RATED = {
    "ratedChargePower": 1000,
    "ratedDischargePower": 1000,
    "energyCapacity": 2000,
    "chargeEfficiency": 0.9,
    "dischargeEfficiency": 0.9,
}

CHOICES = {
    "*/*": 200,
    "text/*": 200,
    "application/*;q=0.1, text/csv;q=0.9": 200,
    "image/png": 406,
    "text/csv;q=0": 406,
}
NOISE = ("", ";;;,,", "text/csv;q=abc", "*/*;q=", "a" * 5000, "text/", "\xff/\xfe")


@pytest.fixture(scope="module")
async def scene(app, operator, new_organisation):
    """An owner, and the id of a resource of its own for each parameter in the paths."""
    owner = await new_organisation()
    physical = {"name": "Tables", "organisationID": str(owner.id), "deliveryZone": "TenneT", "parameters": RATED}
    asset_id = (await operator.post("/physical-assets", json=physical)).json()["id"]
    backing = {"backing": [{"physicalAssetID": asset_id, "share": 1}]}
    place = {"name": "Tables", "start": START, "end": END, "deliveryZone": "TenneT"}
    virtual = await operator.post(f"/organisations/{owner.id}/virtual-assets", json={**place, **RATED, **backing})
    assert virtual.status_code == 201, virtual.text
    fleet = await owner.admin.post(
        "/fleets", json={"name": "Tables", "organisationID": str(owner.id), "physicalAssetIDs": [asset_id]}
    )
    portfolio = await owner.admin.post(f"/organisations/{owner.id}/portfolios", json={"name": "Tables"})
    backtest = Backtest(
        id=uuid7(),
        organisation_id=owner.id,
        asked_at=datetime.now(UTC),
        status="DONE",
        start=date(2026, 1, 1),
        end=date(2026, 1, 2),
        series="DAY_AHEAD_DE_LU",
        policy=Policy.FORECAST,
        battery=BatterySpec(1000.0, 1000.0, 2000.0, 0.9, 0.9),
        earned_eur=0.0,
        foresight_eur=0.0,
        days_done=0,
        failure=None,
    )
    await insert_backtest(app.pool, backtest, owner.people[Role.ADMIN].id)
    schedule = [{"time": START, "power": 100.0}, {"time": "2030-01-01T00:15:00Z", "power": -100.0}]
    url = f"/organisations/{owner.id}/virtual-assets/{virtual.json()['id']}"
    written = await owner.trader.put(f"{url}/schedule", json={"schedule": schedule})
    assert written.status_code == 200, written.text
    points = [{"signal": "active_power", "time": "2026-01-05T10:00:00Z", "value": 1.0}]
    assert (await owner.admin.post(f"/monitoring/{asset_id}/datapoints", json=points)).status_code == 200
    return owner, {
        "organisationID": owner.id,
        "physicalAssetID": asset_id,
        "virtualAssetID": virtual.json()["id"],
        "blockID": virtual.json()["blockIDs"][0],
        "fleetID": fleet.json()["id"],
        "portfolioID": portfolio.json()["id"],
        "backtestID": backtest.id,
    }


@cache
def query_of(operation):
    return Sampler((operation,), {}).query(operation)


def read_workbook(body):
    sheet = openpyxl.load_workbook(io.BytesIO(body)).active
    names, *rows = sheet.iter_rows(values_only=True)
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


READERS = {
    CSV: lambda body: pa.csv.read_csv(io.BytesIO(body)),
    XLSX: read_workbook,
    ARROW: lambda body: pa.ipc.open_stream(body).read_all(),
    PARQUET: lambda body: pa.parquet.read_table(io.BytesIO(body)),
}


def read_for_excel(body):
    """As Excel does where decimals have a comma."""
    assert body.startswith(b"\xef\xbb\xbf")
    options = {"parse_options": pa.csv.ParseOptions(delimiter=";")}
    return pa.csv.read_csv(io.BytesIO(body), convert_options=pa.csv.ConvertOptions(decimal_point=","), **options)


async def ask(scene, operation, accept, **more):
    owner, ids = scene
    path = operation.path
    for parameter in operation.path_parameters:
        path = path.replace(f"{{{parameter.name}}}", str(ids[parameter.name]))
    return await owner.admin.get(path, params={**query_of(operation), **more}, headers={"Accept": accept})


@pytest.mark.parametrize("operation", TABULAR, ids=lambda operation: operation.operation_id)
class TestATable:
    async def test_is_the_same_in_every_format(self, scene, operation):
        assert (await ask(scene, operation, JSON)).status_code == 200
        tables = {}
        for media_type in READERS.keys() & operation.produces:
            answer = await ask(scene, operation, media_type)
            assert answer.status_code == 200, (media_type, answer.text)
            assert answer.headers["content-type"].split(";")[0] == media_type
            tables[media_type] = READERS[media_type](answer.content)
        csv = tables[CSV]
        assert all(
            (table.column_names, table.num_rows) == (csv.column_names, csv.num_rows) for table in tables.values()
        )
        for_excel = await ask(scene, operation, "*/*", excel="true")
        assert for_excel.headers["content-type"].startswith(CSV)
        assert read_for_excel(for_excel.content).equals(csv)

    async def test_is_chosen_by_what_the_caller_accepts(self, scene, operation):
        for accept, status in CHOICES.items():
            answer = await ask(scene, operation, accept)
            assert answer.status_code == status, (accept, answer.text)
        for accept, excel, status in ((JSON, "true", 406), (JSON, "false", 200), (CSV, "yes", 400)):
            answer = await ask(scene, operation, accept, excel=excel)
            assert answer.status_code == status, (accept, excel, answer.text)

    async def test_is_given_or_refused_whatever_is_said(self, scene, operation):
        for accept in NOISE:
            answer = await ask(scene, operation, accept.encode("latin-1"))
            assert answer.status_code in (200, 400, 406), (accept, answer.text)
