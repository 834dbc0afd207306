"""docs/safe-retries.md says what an Idempotency-Key does."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2

from gridloom.kernel.problem import IdempotencyInProgress, IdempotencyKeyReused

PAGE = (Path(__file__).parents[3] / "docs" / "safe-retries.md").read_text()


class TestThePageOfSafeRetries:
    def test_links_the_problems_by_their_types(self):
        assert set(re.findall(r"\((/docs/problems/[\w-]+)\)", PAGE)) == {
            IdempotencyKeyReused.type,
            IdempotencyInProgress.type,
        }

    async def test_is_followed_by_the_service(self, new_organisation):
        admin: httpx2.AsyncClient = (await new_organisation()).admin
        (key,) = re.findall(r"^    Idempotency-Key: (.+)$", PAGE, re.MULTILINE)
        wish = {"name": "meter", "permissions": ["Read:monitoring"]}

        async def ask(key: str | None, **changes: object) -> httpx2.Response:
            headers = {} if key is None else {"Idempotency-Key": key}
            return await admin.post("/auth/api-keys", json={**wish, **changes}, headers=headers)

        assert (await ask(key, permissions=["none"])).status_code == 400, "a refusal is not remembered"
        first, again = await ask(key), await ask(key)
        assert (first.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
        assert first.json() == again.json()
        assert (await ask(key, name="another")).status_code == 422
        unquoted, without = await ask(key.strip('"')), await ask(None)
        assert len({answer.json()["id"] for answer in (first, unquoted, without)}) == 3
