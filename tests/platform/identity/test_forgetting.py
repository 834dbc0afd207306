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


async def test_a_sign_in_at_a_provider_is_deleted_when_its_time_is_over(
    app: Application, new_organisation: Any
) -> None:
    ours = (await new_organisation()).id
    for word, ends in (("held", "1 minute"), ("gone", "-1 minute")):
        await app.pool.execute(
            """
            insert into single_sign_on_attempt (state_hash, organisation_id, issuer, nonce, code_verifier, browser_hash,
                                                redirect, expires_at)
            values ($1, $2, '', '', '', '', $3, clock_timestamp() + $4::text::interval)
            """,
            *(hashlib.sha256(f"{ours} {word}".encode()).digest(), ours, word, ends),
        )
    await delete_expired(app.pool)
    left = "select redirect from single_sign_on_attempt where organisation_id = $1"
    assert [row["redirect"] for row in await app.pool.fetch(left, ours)] == ["held"]


async def test_a_signing_key_is_deleted_a_day_after_it_verifies_nothing_any_more(app: Application) -> None:
    async with app.pool.acquire() as db:
        await (undone := db.transaction()).start()
        for kid, ends in (("present", None), ("recent", "-23 hours"), ("former", "-25 hours")):
            await db.execute(
                "insert into signing_key (kid, private_seed, signs_from, verifies_until)"
                " values ($1, $2, clock_timestamp() - interval '9 days', clock_timestamp() + $3::text::interval)",
                *(kid, bytes(32), ends),
            )
        await delete_expired(db)
        rows = await db.fetch("select kid from signing_key where kid in ('present', 'recent', 'former') order by kid")
        await undone.rollback()
    assert [row["kid"] for row in rows] == ["present", "recent"]
