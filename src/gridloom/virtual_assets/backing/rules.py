"""What backing must respect: its shares make a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from gridloom.kernel.problem import FieldError, Problem


class SharesNotWhole(Problem):
    """The shares of all backing assets sum to 1, and each asset is named once."""

    status = 422
    title = "The backing shares do not make a whole"


SHARE_TOLERANCE: Final = 1e-9


def check_shares(shares: Sequence[tuple[UUID, float]]) -> None:
    faults = find_share_errors(shares)
    if faults:
        raise SharesNotWhole("; ".join(f"{error.pointer} {error.detail}" for error in faults) + ".", faults)


def find_share_errors(shares: Sequence[tuple[UUID, float]]) -> list[FieldError]:
    """What keeps the shares from being a whole: assets named twice, or else a sum that is not 1."""
    seen: set[UUID] = set()
    faults = []
    for place, (asset_id, _) in enumerate(shares):
        if asset_id in seen:
            faults.append(FieldError(f"/backing/{place}/physicalAssetID", "is named twice"))
        seen.add(asset_id)
    total = math.fsum(share for _, share in shares)
    if not faults and abs(total - 1) > SHARE_TOLERANCE:
        faults.append(FieldError("/backing", f"has shares that sum to {total:.6g} instead of 1"))
    return faults
