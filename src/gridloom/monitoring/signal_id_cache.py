"""The ids of assets' signals, remembered: an id, once given, never changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from uuid import UUID

from gridloom.database.pool import Database
from gridloom.monitoring import store

MAX_ASSETS = 20_000


class SignalIdCache:
    """The names of a bounded number of assets with their ids, the longest unused forgotten first.

    The key is something that never means another asset: a UUID, or an asset's key with the birth of its telemetry.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, dict[str, int]] = OrderedDict()

    def find(self, key: Hashable) -> dict[str, int]:
        known = self._known.get(key)
        if known is None:
            return {}
        self._known.move_to_end(key)
        return known

    def keep(self, key: Hashable, ids: dict[str, int]) -> None:
        self._known[key] = ids
        self._known.move_to_end(key)
        if len(self._known) > MAX_ASSETS:
            self._known.popitem(last=False)


async def ids_of_asset(
    db: Database, known: SignalIdCache, asset_id: UUID, asset_key: int, names: tuple[str, ...] | None
) -> dict[str, int]:
    """The ids of the asset's signals; only from memory where that knows all the names asked for."""
    ids = known.find(asset_id)
    if names is None or any(name not in ids for name in names):
        ids = await store.signal_ids(db, asset_key)
        known.keep(asset_id, ids)
    return ids
