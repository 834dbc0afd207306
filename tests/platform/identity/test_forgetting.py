"""What has expired is deleted, and nothing that still holds."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store.retention import delete_expired

ROWS = {
    "sign_in_challenge": """
        insert into sign_in_challenge (challenge_hash, member_id, throttle_subjects, expires_at)
        values ($1, $2, '{}', clock_timestamp() + $3::text::interval)
    """,
    "single_sign_on_code": """
        insert into single_sign_on_code (code_hash, member_id, challenge, expires_at)
        values ($1, $2, 'c', clock_timestamp() + $3::text::interval)
    """,
    "session": """
        insert into session (id, user_agent, member_id, sign_in_method, expires_at)
        values (gen_random_uuid(), encode($1, 'hex'), $2, 'PASSWORD', clock_timestamp() + $3::text::interval)
    """,
    "sign_in_network": """
        insert into sign_in_network (network, member_id, last_at)
        values (encode($1, 'hex'), $2, clock_timestamp() + $3::text::interval)
    """,
}
"""By table, how to add a row of a member that ends, or was used last, so long from now."""


@pytest.mark.parametrize(
    ("table", "gone", "held"),
    [
        ("sign_in_challenge", "-1 minute", "1 minute"),
        ("single_sign_on_code", "-1 minute", "1 minute"),
        ("session", "-25 hours", "-23 hours"),
        ("sign_in_network", "-30 days -1 minute", "-29 days -23 hours"),
    ],
)
async def test_what_has_expired_is_deleted_and_nothing_else(
    app: Application, new_organisation: Any, table: str, gone: str, held: str
) -> None:
    member_id = (await new_organisation()).people[Role.VIEWER].id
    count = f"select count(*) from {table} where member_id = $1"
    before = await app.pool.fetchval(count, member_id)
    for ends, left in ((held, 1), (gone, 1)):
        digest = hashlib.sha256(f"{member_id} {ends}".encode()).digest()
        await app.pool.execute(ROWS[table], digest, member_id, ends)
        await delete_expired(app.pool)
        assert await app.pool.fetchval(count, member_id) == before + left
