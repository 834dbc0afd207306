"""The room's operations ask for the permissions that the contract names."""

from tests.expected_access import EXPECTED, assert_declared_as_written, declared_access


class TestEveryOperation:
    def test_needs_the_permission_of_the_contract(self):
        assert declared_access("markets") == EXPECTED["markets"]

    def test_is_declared_as_it_is_written_down(self):
        assert_declared_as_written("markets")

    async def test_refuses_another_organisations_user(self, access):
        await access.try_as_stranger("markets")
