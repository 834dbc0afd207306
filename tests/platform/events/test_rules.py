"""Which events of an order a reader is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from gridloom.platform.events.model import Event, SequencedEvent
from gridloom.platform.events.rules import EventFilter, is_visible_to

pytestmark = pytest.mark.pure

ASSET, OTHER = UUID(int=1), UUID(int=11)
READS = frozenset({"Read:schedules"})


def event(subject: str = f"physical-assets/{ASSET}", *, is_open: bool = True) -> SequencedEvent:
    happened = Event(
        id=UUID(int=5),
        type="schedule.updated",
        time=datetime(2026, 1, 1, tzinfo=UTC),
        organisation_id=UUID(int=6),
        subject=subject,
        data={},
    )
    return SequencedEvent(1, "Read:schedules", is_open, happened, b"")


class TestAReader:
    def test_is_shown_what_it_may_read_while_it_is_open(self):
        assert is_visible_to(event(), EventFilter(), READS)
        assert not is_visible_to(event(), EventFilter(), frozenset({"Read:monitoring"}))
        assert not is_visible_to(event(is_open=False), EventFilter(), READS)

    def test_made_for_certain_assets_is_shown_those_alone(self):
        for subject in (f"physical-assets/{ASSET}", f"physical-assets/{ASSET}/unavailability/7"):
            assert is_visible_to(event(subject), EventFilter(), READS, [ASSET])
            assert not is_visible_to(event(subject), EventFilter(), READS, [OTHER])
            assert not is_visible_to(event(subject), EventFilter(), READS, [])
        assert not is_visible_to(event("auctions/1"), EventFilter(), READS, [ASSET])
        assert not is_visible_to(event(), EventFilter(types=frozenset({"bid.placed"})), READS, [ASSET])


class TestAFilter:
    @pytest.mark.parametrize(
        ("types", "subjects", "matches"),
        [
            ((), (), True),
            (("schedule.updated",), (), True),
            (("bid.placed",), (), False),
            ((), ("physical-assets",), True),
            ((), ("physical-asset",), False),
            ((), (f"physical-assets/{ASSET}",), True),
            ((), (f"physical-assets/{ASSET}/health",), False),
            ((), ("auctions", "physical-assets"), True),
            (("bid.placed",), ("physical-assets",), False),
        ],
    )
    def test_takes_types_and_subjects_with_all_below_them(self, types, subjects, matches):
        filter = EventFilter(frozenset(types), subjects)
        assert filter.matches("schedule.updated", f"physical-assets/{ASSET}") is matches
