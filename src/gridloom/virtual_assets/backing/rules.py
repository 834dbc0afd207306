"""What backing must respect: its shares make a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from uuid import UUID

from gridloom.kernel.problem import FieldError, Problem


class SharesNotWhole(Problem):
    """The shares of all backing assets sum to 1, and each asset is named once."""

    status = 422
    title = "The backing shares do not make a whole"


def check_shares(shares: Sequence[tuple[UUID, float]]) -> None:
    doubled = [place for place, (id, _) in enumerate(shares) if id in {other for other, _ in shares[:place]}]
    if doubled:
        raise SharesNotWhole(
            "A backing asset is named twice.",
            [FieldError(f"/backing/{place}/physicalAssetID", "named before") for place in doubled],
        )
    total = math.fsum(share for _, share in shares)
    if abs(total - 1) > 1e-9:
        raise SharesNotWhole(f"The shares sum to {total:g}, not to 1.", [FieldError("/backing", f"sums to {total:g}")])
