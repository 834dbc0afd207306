"""The role table."""

import pytest

from gridloom.kernel.permission import Permission
from gridloom.platform.identity.permissions import (
    GRANTABLE,
    OPERATOR_ONLY,
    ROLE_PERMISSIONS,
    OrganisationKind,
    Role,
    permissions_of,
    permissions_of_key,
)

pytestmark = pytest.mark.pure


class TestRole:
    @pytest.mark.parametrize("role", Role)
    def test_of_a_participant_never_runs_the_market(self, role):
        assert not permissions_of(role, OrganisationKind.PARTICIPANT) & OPERATOR_ONLY

    @pytest.mark.parametrize("role", [Role.ADMIN, Role.TRADER])
    def test_of_the_operator_runs_the_market(self, role):
        assert permissions_of(role, OrganisationKind.OPERATOR) >= OPERATOR_ONLY

    @pytest.mark.parametrize("kind", OrganisationKind)
    def test_of_administrator_alone_manages_the_organisation(self, kind):
        managing = [role for role in Role if Permission.MANAGE_ORGANISATION in permissions_of(role, kind)]
        assert managing == [Role.ADMIN]

    @pytest.mark.parametrize("kind", OrganisationKind)
    def test_of_viewer_only_reads(self, kind):
        assert all(permission.startswith("Read:") for permission in permissions_of(Role.VIEWER, kind))

    @pytest.mark.parametrize("kind", OrganisationKind)
    def test_of_administrator_includes_every_other(self, kind):
        for role in Role:
            assert permissions_of(role, kind) <= permissions_of(Role.ADMIN, kind)

    def test_of_those_who_trade_and_repair_includes_what_their_work_needs(self):
        changing = {role: {word for word in held if word[:4] != "Read"} for role, held in ROLE_PERMISSIONS.items()}
        reported = {"Create:unavailabilities", "Create:logbook", "Create:exchange-notifications"}
        assert changing[Role.TRADER] == reported | {
            *("Update:schedules", "Create:ancillary-bids", "Create:ancillary-results", "Create:bids"),
            *(
                "Manage:auctions",
                "Create:settlements",
                "Create:reference-prices",
                "Create:trades",
                "Create:optimisations",
            ),
        }
        assert changing[Role.ENGINEER] == reported | {"Update:physical-assets", "Create:monitoring"}
        seen = {word for word in ROLE_PERMISSIONS[Role.ENGINEER] if word[:4] == "Read"}
        assert seen == {"Read:physical-assets", "Read:schedules", "Read:monitoring", "Read:virtual-assets"}

    def test_words_are_those_of_the_contract(self):
        assert len(Permission) == 21
        assert {word.split(":")[0] for word in Permission} == {"Read", "Update", "Create", "Manage"}


class TestKeyPermissions:
    def test_of_a_key_that_settles_include_trades_and_prices_but_not_the_other_way_round(self):
        operator = permissions_of(Role.TRADER, OrganisationKind.OPERATOR)
        all_three = {Permission.CREATE_SETTLEMENTS, Permission.CREATE_TRADES, Permission.CREATE_REFERENCE_PRICES}
        assert permissions_of_key(["Create:settlements"], operator) == all_three
        price_key = permissions_of_key(["Create:reference-prices"], operator)
        assert price_key == {Permission.CREATE_REFERENCE_PRICES}
        assert permissions_of_key(["Create:trades"], operator) == {Permission.CREATE_TRADES}
        engineer = permissions_of(Role.ENGINEER, OrganisationKind.OPERATOR)
        assert permissions_of_key(["Create:settlements"], engineer) == frozenset(), "no more than its creator"


def test_grants_concern_single_assets_only():
    assert set(Permission) - GRANTABLE == {
        *("Read:virtual-assets", "Read:auctions", "Create:bids", "Manage:auctions"),
        *("Create:settlements", "Create:reference-prices", "Create:trades", "Create:optimisations"),
        "Manage:organisation",
    }
