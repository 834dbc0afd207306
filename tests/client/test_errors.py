"""Every refusal becomes an error of one tree, with a sentence."""

import pytest
from tests.client.script import reply

import gridloom_client
from gridloom_client import Event, ProblemError, ResponseError, read_event

pytestmark = pytest.mark.pure


class TestProblemError:
    @pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"errors": 3}', b"\xff"])
    def test_makes_do_with_any_body(self, content: bytes):
        error = ProblemError.of(reply(502, content, x_request_id="r-2"))
        assert (error.status, error.title, error.request_id) == (502, "Status 502", "r-2")


class TestAnEvent:
    def test_of_a_newer_service_is_read_without_a_class_and_anything_else_is_refused(self):
        told = {"id": "01890000-0000-7000-8000-000000000001", "time": "2026-01-01T00:00:00Z", "data": {"a": 1}}
        event = read_event({"type": "of-a-newer-service", **told})
        assert (type(event), event.data, event.subject) == (Event, {"a": 1}, None)
        for body in (b"<html>", b"[]", b'{"type": "bid.placed"}'):
            with pytest.raises(ResponseError, match="no event that this client can read"):
                read_event(body)


class TestAFormerName:
    def test_still_means_what_it_is_called_now_and_says_so(self):
        with pytest.warns(DeprecationWarning, match="gridloom_client.Retries is now RetryPolicy") as warned:
            assert gridloom_client.Retries is gridloom_client.RetryPolicy
        assert warned[0].filename == __file__
        with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
            _ = gridloom_client.Nothing
        assert gridloom_client.__version__[0].isdigit()
        assert set(dir(gridloom_client)) == {*gridloom_client.__all__, "__version__"}
