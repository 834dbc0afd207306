"""Every refusal becomes an error of one tree, with a sentence."""

import pytest
from tests.client.script import reply

import gridloom_client
from gridloom_client import ProblemError

pytestmark = pytest.mark.pure


class TestProblemError:
    @pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"errors": 3}', b"\xff"])
    def test_makes_do_with_any_body(self, content: bytes):
        error = ProblemError.of(reply(502, content, x_request_id="r-2"))
        assert (error.status, error.title, error.request_id) == (502, "Status 502", "r-2")


class TestAFormerName:
    def test_still_means_what_it_is_called_now_and_says_so(self):
        with pytest.warns(DeprecationWarning, match="gridloom_client.Retries is now RetryPolicy") as warned:
            assert gridloom_client.Retries is gridloom_client.RetryPolicy
        assert warned[0].filename == __file__
        with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
            _ = gridloom_client.Nothing
        assert gridloom_client.__version__[0].isdigit()
        assert set(dir(gridloom_client)) == {*gridloom_client.__all__, "__version__"}
