"""Control characters and bidirectional overrides are in no name and no text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.text import find_forbidden, may_hold_forbidden

FORBIDDEN = ["\x00", "\x07", "\x1b[31m", "\x7f", "\x9b", "\u202e", "\u2066", "\u202a", "\u2069"]


class TestEveryNameAndText:
    @pytest.mark.parametrize("character", FORBIDDEN)
    async def test_is_refused_with_such_a_character(self, new_organisation, character):
        organisation = await new_organisation()
        path = f"/organisations/{organisation.id}"
        refused = await organisation.admin.change(path, json={"name": f"Alpha{character}Beta"})
        assert refused.status_code == 400, refused.text
        assert refused.json()["errors"][0]["pointer"] == "/name"
        hook = {"url": "http://127.0.0.1:9/", "types": [], "description": f"x{character}"}
        refused = await organisation.admin.post("/webhooks", json=hook)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/description")
        assert (await organisation.admin.get("/audit-log", params={"action": character})).status_code == 400

    async def test_may_have_lines_as_a_text(self, new_organisation):
        organisation = await new_organisation()
        hook = {"url": "http://127.0.0.1:9/", "types": [], "description": "two\nlines\tand a tab, ünïcode, العربية"}
        assert (await organisation.admin.post("/webhooks", json=hook)).status_code == 201

    async def test_of_a_settlement_is_refused_too(self, operator):
        rows = "tradeID,assetID,time,side,volume,price,market\nT\u202e1,{0},2026-01-01T00:00:00Z,BUY,1,1,OTC\n"
        body = rows.format("00000000-0000-0000-0000-000000000001").encode()
        refused = await operator.post(
            "/settlements/wholesale-trades", content=body, headers={"Content-Type": "text/csv"}
        )
        assert refused.status_code == 400
        assert any("bidirectional" in one["detail"] for one in refused.json()["errors"])


@given(st.text())
def test_the_quick_look_overlooks_nothing(text):
    import json

    for is_ascii in (True, False):
        encoded = json.dumps(text, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
        if find_forbidden(text) is not None:
            assert may_hold_forbidden(encoded)
