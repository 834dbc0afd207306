"""Every start of a sandbox prints the operator's sign-in, as long as it is true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.conftest import migrated_database

from gridloom.commands.serving.operator_sign_in import FILE, recall_operator
from gridloom.platform.database.pool import create_pool
from gridloom.platform.identity.bootstrap import bootstrap_operator
from gridloom.settings import Settings


class TestTheOperatorsSignIn:
    async def test_is_printed_again_until_its_password_is_changed(self, settings: Settings, tmp_path: Path):
        async with migrated_database() as url, await create_pool(url, size=1) as pool:
            home = tmp_path / "made" / "by the service"
            asked = replace(settings, database_url=url, home=home)
            made = await bootstrap_operator(pool, None, None)
            assert await recall_operator(asked, made) == made
            assert (home / FILE).stat().st_mode & 0o077 == 0
            assert await recall_operator(asked, None) == made
            await pool.execute("update member set password_hash = 'another'")
            assert await recall_operator(asked, None) is None

    async def test_that_was_given_is_not_stored(self, settings: Settings, tmp_path: Path):
        async with migrated_database() as url, await create_pool(url, size=1) as pool:
            asked = replace(settings, database_url=url, home=tmp_path)
            await recall_operator(asked, await bootstrap_operator(pool, "ada", "harbour-spindle-ochre-71"))
            assert not (tmp_path / FILE).exists()
            assert await recall_operator(asked, None) is None
