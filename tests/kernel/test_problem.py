"""A problem says what happened, under a type that has a page."""

from typing import Any

import pytest

from gridloom.kernel import problem as module
from gridloom.kernel.problem import BadRequest, FieldError, Problem, known_problems

pytestmark = pytest.mark.pure


class TestProblem:
    def test_answers_its_members_and_leaves_out_what_is_unknown(self):
        problem = BadRequest("No.", [FieldError("/start", "Expected an offset.")], firstPeriod="2026-01-01T00:00:00Z")
        assert problem.document(instance="/things", request_id="r-1") == {
            "type": "/docs/problems/bad-request",
            "title": "The request is malformed",
            "status": 400,
            "detail": "No.",
            "instance": "/things",
            "requestId": "r-1",
            "errors": [{"pointer": "/start", "detail": "Expected an offset."}],
            "firstPeriod": "2026-01-01T00:00:00Z",
        }
        assert BadRequest("No.", firstPeriod=None, lastPeriod=7).document() == {
            "type": "/docs/problems/bad-request",
            "title": "The request is malformed",
            "status": 400,
            "detail": "No.",
            "firstPeriod": None,
            "lastPeriod": 7,
        }
        assert module.InternalError().document() == {
            "type": "/docs/problems/internal-error",
            "title": "Internal error",
            "status": 500,
        }

    def test_at_a_field_says_of_it_the_whole_detail_or_what_is_given(self):
        said = [BadRequest.at("/end", "No such day.", *more).errors for more in ((), ("is no day",))]
        assert said == [(FieldError("/end", "No such day."),), (FieldError("/end", "is no day"),)]

    def test_cannot_have_a_standard_member_twice(self):
        with pytest.raises(AssertionError):
            BadRequest("No.", status=200)

    def test_carries_the_headers_of_its_status(self):
        assert module.Unauthenticated("No token.").headers == {"WWW-Authenticate": "Bearer"}
        assert module.TooManyRequests("Slow down.", retry_after_s=7).headers == {"Retry-After": "7"}
        for kind in (module.TooManyRequests, module.Unavailable):
            waits = [kind("No.", retry_after_s=asked).headers for asked in (7, 0, -1)]
            assert waits == [{"Retry-After": "7"}, {"Retry-After": "1"}, {"Retry-After": "1"}]
        assert module.IdempotencyInProgress().headers == {"Retry-After": "1"}
        assert module.MethodNotAllowed("No.", allow=["GET", "HEAD"]).headers == {"Allow": "GET, HEAD"}

    def test_quotes_no_more_than_4000_characters(self):
        document: Any = BadRequest.at("/kind", "Unknown value " + "x" * 10**6).document()
        assert [len(text) for text in (document["detail"], document["errors"][0]["detail"])] == [4001, 4001]

    def test_needs_a_status_and_a_title(self):
        with pytest.raises(AssertionError, match="no status"):
            type("Nameless", (Problem,), {})

    def test_of_another_module_cannot_take_the_same_type(self):
        with pytest.raises(AssertionError, match="share a type"):
            type("BadRequest", (Problem,), {"status": 400, "title": "No", "__module__": "elsewhere"})


class TestKnownProblems:
    def test_include_the_generic_ones_by_status(self):
        generic = [problem for problem in known_problems() if problem.__module__ == module.__name__]
        assert [problem.status for problem in generic] == [
            *(400, 401, 403, 404, 405, 406, 409, 409, 412, 413, 415, 422, 422, 428, 429, 500, 503)
        ]

    def test_have_a_page_each(self):
        assert all(problem.documentation() and problem.title for problem in known_problems())
