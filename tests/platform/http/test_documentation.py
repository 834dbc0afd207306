"""The interface explains itself."""

import base64
import hashlib
import re

import httpx2
from tests.platform.http import conftest

from gridloom.platform.http import operations_of
from gridloom.platform.http.openapi.document import describe
from gridloom.platform.http.openapi.field_descriptions import field_descriptions


class TestDocumentation:
    async def test_is_openapi_3_1(self, anonymous: httpx2.AsyncClient):
        document = (await anonymous.get("/openapi.json")).json()
        assert document["openapi"] == "3.1.0"
        assert document["info"]["version"] == "1.0.1"

    async def test_of_an_operation_that_will_go_says_so_in_its_answers(self, client: httpx2.AsyncClient):
        headers = (await client.get("/old-toys")).headers
        assert headers["Deprecation"] == "@1767225600"
        assert headers["Sunset"] == "Wed, 01 Jul 2026 00:00:00 GMT"
        assert "Sunset" not in (await client.get("/toys")).headers

    def test_marks_an_operation_that_will_go(self):
        paths = describe(operations_of(conftest), field_descriptions(), servers=())["paths"]
        assert paths["/old-toys"]["get"]["deprecated"] is True
        assert "deprecated" not in paths["/toys"]["get"]

    async def test_names_no_outside_host(self, anonymous: httpx2.AsyncClient):
        page = await anonymous.get("/docs")
        assert page.headers["content-type"].startswith("text/html")
        assert "//" not in page.text.replace("<!doctype", "")

    async def test_runs_no_script_but_its_own(self, anonymous: httpx2.AsyncClient):
        page = await anonymous.get("/docs")
        policy = page.headers["content-security-policy"]
        inline = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline]
        assert len(hashes) == 1
        assert f"script-src 'self' 'sha256-{hashes[0]}'" in policy
        assert "frame-ancestors 'none'" in policy
