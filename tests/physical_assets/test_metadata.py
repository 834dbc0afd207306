"""Metadata: typed where the world has rules, free elsewhere."""

from typing import Any

import pytest
from tests.assets import pointers, register_asset

from gridloom.kernel.codes import eic_check_character

EIC = "11WSPEICHER-NRD" + eic_check_character("11WSPEICHER-NRD")
WRONG_EIC = EIC[:-1] + ("0" if EIC[-1] != "0" else "1")
AREA = "10Y1001A1001A82H"

GOOD: dict[str, dict[str, Any]] = {
    "grid": {
        "mastrNumber": "SEE123456789012",
        "eicCode": EIC,
        "tso": "TenneT",
        "dso": "Netz AG",
        "voltageLevel": "HIGH",
    },
    "site": {"coordinates": {"latitude": -89.5, "longitude": 179.5}, "country": "DE", "altitudeM": -350.5},
    "technical": {"manufacturer": "ACME", "moduleCount": 120, "warrantyUntil": "2040-01-01"},
    "contract": {"owner": "A", "startsOn": "2026-01-01", "endsOn": "2026-12-31"},
    "market": {"biddingZone": AREA, "prequalifiedFor": ["FCR", "AFRR_POS"], "acerCode": "A0000001X.DE"},
}


class TestMetadata:
    @pytest.mark.parametrize("category", list(GOOD))
    async def test_reads_back_as_it_was_put(self, new_organisation, category):
        asset = await register_asset(await new_organisation())
        body = {**GOOD[category], "extra": {"Zählerschrank": "links"}}
        path = asset.path(f"/metadata/{category}")
        put = await asset.owner.engineer.put(path, json=body)
        assert put.status_code == 200, put.text
        read = await asset.owner.viewer.get(path)
        assert read.json() == put.json()
        assert read.json().items() >= body.items()
        whole = (await asset.owner.viewer.get(asset.path("/metadata"))).json()
        assert whole[category] == read.json()
        assert list(whole) == list(GOOD)
        # What was read can be put again and changes nothing.
        again = await asset.owner.engineer.put(path, json=read.json(), headers={"If-Match": read.headers["etag"]})
        assert again.headers["etag"] == read.headers["etag"]

    @pytest.mark.parametrize(
        ("category", "body", "status", "pointer"),
        [
            ("grid", {"mastrNumber": "SEE12345678901"}, 400, "/mastrNumber"),
            ("grid", {"mastrNumber": "SEL123456789012"}, 400, "/mastrNumber"),
            ("grid", {"eicCode": WRONG_EIC}, 422, "/eicCode"),
            ("grid", {"eicCode": EIC.lower()}, 400, "/eicCode"),
            ("grid", {"eicCode": AREA}, 422, "/eicCode"),
            ("grid", {"tso": "Nobody"}, 400, "/tso"),
            ("site", {"coordinates": {"latitude": 90.1, "longitude": 0}}, 400, "/coordinates/latitude"),
            ("site", {"coordinates": {"latitude": 0, "longitude": -180.1}}, 400, "/coordinates/longitude"),
            ("site", {"coordinates": {"latitude": 0}}, 400, "/coordinates/longitude"),
            ("site", {"country": "Germany"}, 400, "/country"),
            ("technical", {"moduleCount": 1.5}, 400, "/moduleCount"),
            ("technical", {"colour": "green"}, 400, "/colour"),
            ("contract", {"startsOn": "2026-02-01", "endsOn": "2026-01-01"}, 422, "/endsOn"),
            ("market", {"biddingZone": EIC}, 422, "/biddingZone"),
            ("market", {"prequalifiedFor": ["MFRR"]}, 400, "/prequalifiedFor/0"),
            ("market", {"extra": {"note": 5}}, 400, "/extra/note"),
            ("market", {"extra": {"n" * 101: "x"}}, 400, "/extra"),
            ("market", {"extra": {"": "x"}}, 400, "/extra"),
            ("grid", {"mastrNumber": "SEE900000000001\n"}, 400, "/mastrNumber"),
            ("grid", {"eicCode": f"{EIC}\n"}, 400, "/eicCode"),
            ("grid", {"meteringPoint": f"DE{'0' * 31}\n"}, 400, "/meteringPoint"),
            ("grid", {"marketLocation": "12345678901\n"}, 400, "/marketLocation"),
            ("site", {"country": "DE\n"}, 400, "/country"),
            ("market", {"acerCode": "A0000001X.DE\n"}, 400, "/acerCode"),
            ("market", {"marketPartnerNumber": f"{'1' * 13}\n"}, 400, "/marketPartnerNumber"),
        ],
    )
    async def test_is_typed_where_the_world_has_rules(self, new_organisation, category, body, status, pointer):
        asset = await register_asset(await new_organisation())
        answer = await asset.owner.engineer.put(asset.path(f"/metadata/{category}"), json=body)
        assert answer.status_code == status, answer.text
        assert len(pointers(answer)) == 1
        if "..." not in pointer:
            assert pointers(answer) == [pointer]

    async def test_of_a_category_stands_by_itself(self, new_organisation):
        """Each has a version of its own, of which the other ones' changes make no next one."""
        asset = await register_asset(await new_organisation())
        put = {
            category: await asset.owner.engineer.put(asset.path(f"/metadata/{category}"), json=body)
            for category, body in GOOD.items()
        }
        site = {"city": "Stade"}
        put["site"] = await asset.owner.engineer.put(asset.path("/metadata/site"), json=site)
        for category, answer in put.items():
            read = await asset.owner.viewer.get(asset.path(f"/metadata/{category}"))
            assert read.json().items() >= (site if category == "site" else GOOD[category]).items()
            assert read.headers["etag"] == answer.headers["etag"] == ('"2"' if category == "site" else '"1"')
        whole = (await asset.owner.viewer.get(asset.path("/metadata"))).json()
        assert whole == {category: answer.json() for category, answer in put.items()}
