"""Every refusal becomes an error of one tree, with a sentence."""

import pytest
from tests.client.script import problem, reply

import gridloom_client
from gridloom_client import BadRequestError, ProblemError, ServiceError, UnavailableError, UnprocessableError

pytestmark = pytest.mark.pure


class TestProblemError:
    def test_carries_what_the_service_said(self):
        body = {
            "type": "/docs/problems/gate-closed",
            "title": "The gate is closed",
            "status": 422,
            "detail": "It closed at 08:00.",
            "requestId": "r-1",
            "errors": [{"pointer": "/start", "detail": "too late"}],
            "firstPeriod": "2026-01-01T00:00:00Z",
        }
        error = ProblemError.of(reply(422, body))
        assert isinstance(error, UnprocessableError)
        assert (error.name, error.title, error.request_id) == ("gate-closed", "The gate is closed", "r-1")
        assert error.errors[0].pointer == "/start"
        assert error.members["firstPeriod"] == "2026-01-01T00:00:00Z"
        assert str(error) == "It closed at 08:00. (/start: too late)"
        body["detail"] = "/start: too late."
        assert str(ProblemError.of(reply(422, body))) == "/start: too late.", "nothing is said twice"

    def test_says_all_that_is_wrong_and_by_its_title_where_there_is_no_more(self):
        body = {"title": "Wrong", "errors": [{"pointer": "/a", "detail": "x"}, {"detail": "y"}, {"pointer": "/b"}]}
        assert str(ProblemError.of(reply(400, body))) == "Wrong. (/a: x; y)"
        assert ProblemError.of(reply(400, body)).faults == ["/a: x", "y", "/b: "]

    @pytest.mark.parametrize(("sent", "read"), [("7", 7.0), ("0.5", 0.5), ("-5", 0.0), ("tomorrow", None)])
    def test_says_how_long_to_wait(self, sent: str, read: float | None):
        assert ProblemError.of(problem(429, retry_after=sent)).retry_after_s == read

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (400, BadRequestError),
            (503, UnavailableError),
            (500, ServiceError),
            (502, ServiceError),
            (418, ProblemError),
        ],
    )
    def test_has_the_most_specific_class_of_its_status(self, status: int, kind: type[ProblemError]):
        assert type(ProblemError.of(problem(status))) is kind

    @pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"errors": 3}', b"\xff"])
    def test_makes_do_with_any_body(self, content: bytes):
        error = ProblemError.of(reply(502, content, x_request_id="r-2"))
        assert (error.status, error.title, error.request_id) == (502, "Status 502", "r-2")

    def test_is_a_gridloom_error_like_all_others(self):
        names = [name for name in gridloom_client.__all__ if name.endswith("Error") and name != "FieldError"]
        kinds = [getattr(gridloom_client, name) for name in names]
        assert len(kinds) == 17
        assert all(issubclass(kind, gridloom_client.GridloomError) for kind in kinds)


class TestAFormerName:
    def test_still_means_what_it_is_called_now_and_says_so(self):
        with pytest.warns(DeprecationWarning, match="gridloom_client.Retries is now RetryPolicy") as warned:
            assert gridloom_client.Retries is gridloom_client.RetryPolicy
        assert warned[0].filename == __file__
        with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
            _ = gridloom_client.Nothing
        assert gridloom_client.__version__[0].isdigit()
        assert set(dir(gridloom_client)) == {*gridloom_client.__all__, "__version__"}
