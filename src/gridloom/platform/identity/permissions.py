"""The permission words, and the roles that bundle them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

from gridloom.kernel.permission import Permission


class OrganisationKind(StrEnum):
    OPERATOR = "OPERATOR"
    PARTICIPANT = "PARTICIPANT"


class Role(StrEnum):
    ADMIN = "ADMIN"
    TRADER = "TRADER"
    ENGINEER = "ENGINEER"
    VIEWER = "VIEWER"


_READING: Final = frozenset(permission for permission in Permission if permission.startswith("Read:"))

# Running the market is the operator's alone, whatever role a participant's member holds.
OPERATOR_ONLY: Final = frozenset(
    {Permission.MANAGE_AUCTIONS, Permission.CREATE_SETTLEMENTS, Permission.CREATE_REFERENCE_PRICES}
)

ROLE_PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.ADMIN: frozenset(Permission),
    Role.TRADER: _READING
    | {
        Permission.UPDATE_SCHEDULES,
        Permission.CREATE_ANCILLARY_BIDS,
        Permission.CREATE_ANCILLARY_RESULTS,
        Permission.CREATE_UNAVAILABILITIES,
        Permission.CREATE_LOGBOOK,
        Permission.CREATE_EXCHANGE_NOTIFICATIONS,
        Permission.CREATE_BIDS,
        Permission.MANAGE_AUCTIONS,
        Permission.CREATE_SETTLEMENTS,
        Permission.CREATE_REFERENCE_PRICES,
        Permission.CREATE_TRADES,
        Permission.CREATE_OPTIMISATIONS,
    },
    Role.ENGINEER: frozenset(
        {
            Permission.READ_PHYSICAL_ASSETS,
            Permission.UPDATE_PHYSICAL_ASSETS,
            Permission.READ_SCHEDULES,
            Permission.CREATE_UNAVAILABILITIES,
            Permission.CREATE_LOGBOOK,
            Permission.CREATE_EXCHANGE_NOTIFICATIONS,
            Permission.READ_MONITORING,
            Permission.CREATE_MONITORING,
            Permission.READ_VIRTUAL_ASSETS,
        }
    ),
    Role.VIEWER: _READING,
}

# What an owner can hand to another organisation is what concerns one battery.
GRANTABLE: Final = frozenset(Permission) - {
    Permission.READ_VIRTUAL_ASSETS,
    Permission.READ_AUCTIONS,
    Permission.CREATE_BIDS,
    Permission.MANAGE_AUCTIONS,
    Permission.CREATE_SETTLEMENTS,
    Permission.CREATE_REFERENCE_PRICES,
    Permission.CREATE_TRADES,
    Permission.CREATE_OPTIMISATIONS,
    Permission.MANAGE_ORGANISATION,
}

IMPLIED: Final[Mapping[str, frozenset[Permission]]] = {
    Permission.CREATE_SETTLEMENTS: frozenset({Permission.CREATE_TRADES, Permission.CREATE_REFERENCE_PRICES})
}
"""Settling everything includes trades and published prices: keys made for it before these had a permission of their own
keep both."""


def permissions_of(role: Role, kind: OrganisationKind) -> frozenset[Permission]:
    """Permissions of a member with this role in an organisation of this kind."""
    bundled = ROLE_PERMISSIONS[role]
    return bundled if kind is OrganisationKind.OPERATOR else bundled - OPERATOR_ONLY


def permissions_of_key(requested: Iterable[str], creator: frozenset[Permission]) -> frozenset[Permission]:
    """Permissions of an API key now: those it was made for that its creator still has."""
    asked = frozenset(requested)
    return creator.intersection(asked.union(*(IMPLIED[word] for word in asked & IMPLIED.keys())))


def in_order(permissions: Iterable[str]) -> list[Permission]:
    """The words in the order in which the contract lists them."""
    return list(_put_in_order(frozenset(permissions)))


@lru_cache(maxsize=256)
def _put_in_order(held: frozenset[str]) -> tuple[Permission, ...]:
    """Cached: members hold few different sets of them, and the console reads theirs with every page."""
    return tuple(permission for permission in Permission if permission in held)
