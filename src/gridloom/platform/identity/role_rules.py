"""The rule of giving roles: a caller gives no permission that it lacks."""

from __future__ import annotations

from gridloom.kernel.problem import Forbidden
from gridloom.platform.http import Caller
from gridloom.platform.identity.permissions import OrganisationKind, Role, in_order, permissions_of


def reject_giving_more_than_held(caller: Caller, role: Role, kind: OrganisationKind) -> None:
    """A key made for managing members alone could otherwise make itself a member who may do everything."""
    missing = in_order(permissions_of(role, kind) - caller.permissions)
    if missing:
        raise Forbidden(f"You cannot assign {role}: you lack {', '.join(missing)}.")
