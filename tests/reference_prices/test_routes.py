"""Published prices over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

PRICE: dict[str, Any] = {
    "series": "AFRR_CAPACITY_POS_DE_MARGINAL",
    "start": "2031-01-01T03:00:00Z",
    "end": "2031-01-01T07:00:00Z",
    "price": 12.345678,
}


class TestReferencePrice:
    async def test_is_loaded_replaced_and_listed(self, operator: httpx2.AsyncClient) -> None:
        first = await operator.post("/reference-prices", json=[PRICE, PRICE])
        assert first.json() == {"received": 2, "inserted": 1, "replaced": 0, "unchanged": 1}
        assert (await operator.post("/reference-prices", json=[{**PRICE, "price": 7}])).json()["replaced"] == 1
        query = {"series": PRICE["series"], "start": PRICE["start"]}
        assert (await operator.get("/reference-prices", params=query)).json() == [{**PRICE, "price": 7}]

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"series": "LUCK"}, "/1/series"),
            ({"end": PRICE["start"]}, "/1/end"),
            ({"price": "x"}, "/1/price"),
            ({"colour": 1}, "/1/colour"),
        ],
    )
    async def test_names_faults(self, operator: httpx2.AsyncClient, change: dict[str, Any], pointer: str) -> None:
        answer = await operator.post("/reference-prices", json=[PRICE, {**PRICE, **change}])
        assert answer.status_code == 400
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]

    async def test_is_the_operators_to_load(self, new_organisation: Any) -> None:
        participant = await new_organisation()
        assert (await participant.admin.post("/reference-prices", json=[PRICE])).status_code == 403
        assert (await participant.admin.get("/reference-prices", params={"series": "FCR_DE"})).status_code == 200
        assert (await participant.admin.get("/reference-prices", params={"series": "LUCK"})).status_code == 400
        assert (await participant.admin.get("/reference-prices/deviations?kind=fcr")).json() == []

    @pytest.mark.parametrize("path", ["/reference-prices?series=FCR_DE", "/reference-prices/deviations?kind=fcr"])
    async def test_is_not_asked_for_backwards(self, operator: httpx2.AsyncClient, path: str) -> None:
        answer = await operator.get(f"{path}&start=2026-03-29T00:00:00Z&end=2026-03-29T00:00:00Z")
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == "query:end"
