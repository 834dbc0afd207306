"""The room's operations ask for the permissions that the contract names."""

from tests.asset_operations import assert_grants_decide
from tests.expected_access import EXPECTED, assert_declared_as_written, declared_access


class TestEveryOperation:
    def test_needs_the_permission_of_the_contract(self):
        assert declared_access("exchange_notifications") == EXPECTED["exchange_notifications"]

    def test_is_declared_as_it_is_written_down(self):
        assert_declared_as_written("exchange_notifications")

    async def test_of_an_asset_is_opened_by_the_grant_of_it_alone(self, people):
        await assert_grants_decide(people, "/exchange-notifications")

    async def test_refuses_another_organisations_user(self, access):
        await access.try_as_stranger("exchange_notifications")
