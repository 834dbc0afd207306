"""The first start on an empty database."""

import asyncio

import pytest
from tests.conftest import migrated_database

from gridloom.platform.database.pool import create_pool
from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity.bootstrap import BootstrapError, bootstrap_operator
from gridloom.platform.identity.store.members import find_account

PASSWORD = "harbour-spindle-ochre-71"

SEAL = Seal("a key for these tests", "signing-key")


@pytest.fixture
async def empty():
    async with migrated_database() as url, await create_pool(url, size=4) as pool:
        yield pool


class TestBootstrap:
    async def test_makes_the_operators_first_administrator_once(self, empty):
        made = await bootstrap_operator(empty, "grace", PASSWORD)
        assert made is not None
        assert (made.username, made.password, made.is_made_up) == ("grace", PASSWORD, False)
        account = await find_account(empty, "grace")
        assert account is not None
        assert (account.member.role, account.member.organisation_kind) == ("ADMIN", "OPERATOR")
        assert await bootstrap_operator(empty, "grace", "another-good-password-8") is None
        assert await empty.fetchval("select count(*) from member") == 1

    async def test_prints_no_password_that_was_given_for_the_usual_name(self, empty):
        made = await bootstrap_operator(empty, None, PASSWORD)
        assert made is not None
        assert (made.username, made.is_made_up) == ("operator", False)

    async def test_happens_once_however_many_replicas_start(self, empty):
        made = await asyncio.gather(*(bootstrap_operator(empty, None, None) for _ in range(4)))
        assert sum(bootstrap is not None for bootstrap in made) == 1
        assert await empty.fetchval("select count(*) from organisation") == 1
        assert await empty.fetchval("select count(*) from signing_key") == 1

    @pytest.mark.parametrize("username", [None, "grace"])
    async def test_makes_up_credentials_in_the_sandbox(self, empty, username):
        made = await bootstrap_operator(empty, username, None)
        assert made is not None
        assert made.is_made_up, "so that it is printed, whoever named the user"
        assert made.username == (username or "operator")
        assert len(made.password) >= 20
        assert made.password not in repr(made)

    @pytest.mark.parametrize(
        ("username", "password"),
        [
            *((None, None), ("grace", None), (None, PASSWORD), ("", ""), ("grace", "password1234")),
            ("ada.lovelace", "ada.lovelacekJ8#mQ2"),
        ],
    )
    async def test_of_production_needs_good_credentials(self, empty, username, password):
        with pytest.raises(BootstrapError):
            await bootstrap_operator(empty, username, password, in_production=True, seal=SEAL)
        assert await empty.fetchval("select count(*) from organisation") == 0

    async def test_of_production_needs_a_key_that_seals_its_secrets(self, empty):
        with pytest.raises(BootstrapError, match="GRIDLOOM_SECRETS_KEY"):
            await bootstrap_operator(empty, "grace", PASSWORD, in_production=True)
        assert await empty.fetchval("select count(*) from signing_key") == 0
        await bootstrap_operator(empty, "grace", PASSWORD, in_production=True, seal=SEAL)
        assert await empty.fetchval("select length(private_seed) > 32 from signing_key")

    async def test_of_production_asks_for_nothing_later(self, empty):
        await bootstrap_operator(empty, "grace", PASSWORD, in_production=True, seal=SEAL)
        assert await bootstrap_operator(empty, None, None, in_production=True) is None
