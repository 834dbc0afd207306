"""The interface explains itself."""

import httpx2


class TestDocumentation:
    async def test_is_openapi_3_1(self, anonymous: httpx2.AsyncClient):
        document = (await anonymous.get("/openapi.json")).json()
        assert document["openapi"] == "3.1.0"
        assert document["info"]["version"] == "1.0.1"

    async def test_names_no_outside_host(self, anonymous: httpx2.AsyncClient):
        page = await anonymous.get("/docs")
        assert page.headers["content-type"].startswith("text/html")
        assert "//" not in page.text.replace("<!doctype", "")
