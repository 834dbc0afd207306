"""Groups of physical assets."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence

from gridloom_client.answers import Fleet
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.wire import ID, UNSET, UnsetType


class Fleets(Resource[M]):
    """Groups of physical assets."""

    @collection("/fleets")
    def list(self, *, organisation_id: ID | None = None, page_size: int | None = None) -> Fleet: ...

    @operation("POST", "/fleets")
    def create(self, *, name: str, organisation_id: ID, physical_asset_ids: Sequence[ID] = ()) -> Fleet: ...

    @operation("GET", "/fleets/{fleetID}")
    def get(self, fleet_id: ID) -> Fleet: ...

    @operation("PATCH", "/fleets/{fleetID}")
    def update(
        self,
        fleet_id: ID,
        *,
        name: str | UnsetType = UNSET,
        physical_asset_ids: Sequence[ID] | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> Fleet: ...

    @operation("DELETE", "/fleets/{fleetID}")
    def delete(self, fleet_id: ID, *, if_match: str | None = None) -> None: ...
