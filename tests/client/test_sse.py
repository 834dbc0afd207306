"""Event streams mean the same however they are cut."""

import itertools
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom_client import ResponseError
from gridloom_client.sse import EventParser, ServerSentEvent
from gridloom_client.streams import FollowedPoints

pytestmark = pytest.mark.pure

STREAM = (
    ': hello\r\nid: 1\r\nevent: bid.placed\r\ndata: {\r\ndata: "price": 1}\r\n\r\n'
    "data:no space\n\nid: 2\ndata: ü€\n\ndata\n\nretry: 250\nevent: ignored\n\ndata: last\r\rdata: unfinished"
)
EVENTS = [
    ServerSentEvent('{\n"price": 1}', "bid.placed", "1"),
    ServerSentEvent("no space", id="1"),
    ServerSentEvent("ü€", id="2"),
    ServerSentEvent("", id="2"),
    ServerSentEvent("last", id="2"),
]


class TestEventParser:
    @given(st.lists(st.integers(0, len(STREAM.encode()))))
    def test_finds_the_same_events_wherever_the_bytes_are_cut(self, cuts: list[int]):
        parser, content, found = EventParser(), STREAM.encode(), []
        places = [0, *sorted(cuts), len(content)]
        for start, end in itertools.pairwise(places):
            found += parser.feed(content[start:end])
        assert found == EVENTS
        assert parser.retry_s == 0.25

    def test_resumes_after_complete_events_and_lone_ids_only(self):
        parser = EventParser()
        parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
        assert parser.last_event_id == "1"
        parser.feed(b"\nid: 7\n\n")
        assert parser.last_event_id == "7"

    def test_reads_data_as_json(self):
        assert EVENTS[0].json() == {"price": 1}


class TestPointsThatAreFollowed:
    FIRST, SECOND = "2026-07-01T10:00:00Z", "2026-07-01T10:01:00Z"
    TIMES = datetime(2026, 7, 1, 10, tzinfo=UTC), datetime(2026, 7, 1, 10, 1, tzinfo=UTC)

    def read(self, kind: str, data: Any) -> FollowedPoints | None:
        return FollowedPoints.read_event(ServerSentEvent(json.dumps(data), kind, "41"))

    @pytest.mark.parametrize("column", [{"time": [FIRST, SECOND], "value": [1]}, {"time": ["noon"], "value": [1]}, 7])
    def test_that_cannot_be_read_are_an_error_of_the_answer(self, column: Any):
        with pytest.raises(ResponseError, match="cannot read"):
            self.read("datapoints", {"a": column})
