"""The room's operations ask for the permissions that the contract names."""

from tests.expected_access import EXPECTED, declared_access


class TestEveryOperation:
    def test_needs_the_permission_of_the_contract(self):
        assert declared_access("statements") == EXPECTED["statements"]
