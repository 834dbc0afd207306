"""Rules of a physical asset and its ratings."""

from __future__ import annotations

from datetime import UTC, date, datetime

from gridloom.kernel.codes import EicKind, check_eic
from gridloom.kernel.market_time import market_day_window
from gridloom.kernel.problem import Problem
from gridloom.physical_assets.model import AssetStatus, NewParameters

ALWAYS_VALID_FROM = datetime(1970, 1, 1, tzinfo=UTC)


class InvalidCode(Problem, status=422, title="The code is not valid"):
    """A code has the right shape, but the industry could not have given it: its check character does not fit, or it
    names another kind of thing.

    The last character of an EIC is computed from the fifteen before it; the detail says which one was expected.
    """


class InconsistentParameters(Problem, status=422, title="The parameters contradict each other"):
    """The parameters contradict each other, for instance a least state of charge that is not below the greatest."""


class UnknownFleet(Problem, status=422, title="The organisation has no such fleet"):
    """The fleet does not exist, or it is not one of the organisation that owns the asset."""


class DeliveryZoneHeld(Problem, status=422, title="The asset is held in its delivery zone"):
    """The asset backs virtual assets, or auctions of them, which lie in its delivery zone; it stays there until they
    end."""


class AssetNotActive(Problem, status=409, title="The asset is not active"):
    """The asset is inactive or decommissioned, so nothing can be offered from it or scheduled on it.

    `PATCH /physical-assets/{physicalAssetID}` with `status` changes that.
    """


def check_eic_code(code: str | None, pointer: str, kind: EicKind | None = None) -> None:
    if code is None:
        return
    try:
        check_eic(code, kind)
    except ValueError as error:
        raise InvalidCode.at(pointer, str(error)) from None


def check_parameters(parameters: NewParameters, pointer: str = "") -> None:
    if parameters.min_state_of_charge >= parameters.max_state_of_charge:
        detail = (
            f"The least state of charge, {parameters.min_state_of_charge}, is not below the greatest, "
            f"{parameters.max_state_of_charge}."
        )
        raise InconsistentParameters.at(f"{pointer}/minStateOfCharge", detail)
    daily, annual = parameters.daily_cycle_limit, parameters.annual_cycle_limit
    if daily is not None and annual is not None and daily > annual:
        detail = f"{daily:g} cycles a day are more than the {annual:g} of a whole year."
        raise InconsistentParameters.at(pointer + "/dailyCycleLimit", detail)


def check_active(status: AssetStatus) -> None:
    if status is not AssetStatus.ACTIVE:
        raise AssetNotActive(f"The asset is {status}.")


def first_valid_from(commissioned_on: date | None) -> datetime:
    """A new asset's ratings hold from the day it is commissioned; an asset without such a day has always had them."""
    return ALWAYS_VALID_FROM if commissioned_on is None else market_day_window(commissioned_on).start
