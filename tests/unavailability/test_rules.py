"""What the logbook tells of an unavailability."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from gridloom.unavailability.model import NewPowerCapacity, NewUnavailability, NewVolume, UnavailabilityKind
from gridloom.unavailability.rules import UnknownNotifications, check_notifications, logbook_text

pytestmark = pytest.mark.pure

START = datetime(2026, 5, 1, 10, tzinfo=UTC)


class TestTheLogbook:
    @pytest.mark.parametrize(("description", "more"), [("", ""), ("Transformer oil", "\nTransformer oil")])
    def test_tells_what_is_missing_from_when_to_when_and_why(self, description: str, more: str) -> None:
        volume = NewVolume(energy_capacity=300.5, power_capacity=NewPowerCapacity(charge=1000, discharge=2000))
        kind, end = UnavailabilityKind.MAINTENANCE, START + timedelta(minutes=90)
        outage = NewUnavailability(description=description, type=kind, start=START, end=end, volume=volume)
        assert logbook_text(outage) == (
            "1000 kW of charging, 2000 kW of discharging and 300.5 kWh are missing "
            f"from 2026-05-01T10:00:00Z to 2026-05-01T11:30:00Z.{more}"
        )


class TestNotifications:
    def test_that_the_asset_has_not_are_named_each_where_it_stands(self) -> None:
        known, *strangers = (UUID(int=number) for number in (1, 2, 3))
        check_notifications([known, known], {known})
        with pytest.raises(UnknownNotifications) as refusal:
            check_notifications([strangers[1], known, strangers[0]], {known})
        assert [(error.pointer, error.detail) for error in refusal.value.errors] == [
            (f"/exchangeNotificationIds/{position}", f"{one} is not a notification of this asset")
            for position, one in ((0, strangers[1]), (2, strangers[0]))
        ]
