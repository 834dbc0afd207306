"""What an operation's declaration says of it, and what a key of a repetition is made of."""

from __future__ import annotations

import base64
import hashlib
from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

import pytest
from cryptography.fernet import Fernet

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import IdempotencyKeyReused
from gridloom.platform.http import idempotency
from gridloom.platform.http.fields import QueryParameters, RequestBody
from gridloom.platform.http.idempotency import IdempotencyScope, ReplayStored
from gridloom.platform.http.operation import (
    BULK,
    CONSOLE_SESSION,
    CONSOLE_SIGN_IN,
    ENROLLING,
    PROBE,
    PUBLIC,
    SIGNED_IN,
    Access,
    BodyFormat,
    PathParameter,
    operation,
)

pytestmark = pytest.mark.pure

TAG = "Toys"


class Toy(RequestBody):
    name: str


class Filter(QueryParameters):
    name: str = ""


async def list_toys(request: Any, query: Filter) -> list[str]:
    """All of them."""
    return []


async def change_toy(request: Any, toy_id: UUID, body: Toy) -> None: ...


async def load_toys(request: Any, body: Annotated[bytes, BULK]) -> None: ...


def declared(handler: Any, method: str, path: str = "/toys", **more: Any) -> Any:
    return operation(method, path, summary="Toys", **more)(handler).__operation__


class TestADeclaration:
    def test_of_any_other_method_is_a_change_and_audited_unless_it_says_otherwise(self):
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            change = declared(change_toy, method, "/toys/{toyID}", access=SIGNED_IN)
            assert (change.changes_state, change.audited, change.status) == (True, True, 204)
            assert change.path_parameters == (PathParameter("toy_id", "toyID", UUID),)
            assert not declared(change_toy, method, "/toys/{toyID}", access=SIGNED_IN, audited=False).audited

    def test_says_whether_a_long_one_is_queued(self):
        queued = declared(list_toys, "POST", access=SIGNED_IN, status=(201, 202))
        assert (queued.status, queued.may_be_queued) == (201, True)
        always = declared(list_toys, "POST", access=SIGNED_IN, status=202)
        assert (always.status, always.may_be_queued) == (202, False)

    def test_limits_its_body_to_what_its_callers_may_send(self):
        limits = [
            declared(handler, "POST", f"/toys{path}", access=access).body_format.limit_bytes
            for handler, path, access in (
                (change_toy, "/{toyID}", PUBLIC),
                (change_toy, "/{toyID}", SIGNED_IN),
                (load_toys, "", PUBLIC),
            )
        ]
        assert limits == [16_384, 10_485_760, 67_108_864]
        assert declared(load_toys, "POST", access=SIGNED_IN).body is bytes
        assert BodyFormat().media_types == ("application/json",)

    def test_names_who_may_call(self):
        named = [str(Access(permission=Permission.READ_AUCTIONS)), str(PUBLIC), str(SIGNED_IN), str(ENROLLING)]
        assert named == [Permission.READ_AUCTIONS.value, "public", "signed-in", "signed-in"]
        assert (Access(is_public=True), Access(is_public=True, is_limited=False)) == (PUBLIC, PROBE)
        assert Access() == SIGNED_IN
        assert Access(is_open_before_enrolment=True) == ENROLLING
        assert Access(is_public=True, cookie="set") == CONSOLE_SIGN_IN
        assert Access(is_public=True, cookie="needed") == CONSOLE_SESSION


def scope(caller: str = "USER:1", operation: str = "makeToy", key: str = "k", *, sealed: bool = False) -> Any:
    return IdempotencyScope(caller_key=caller, operation_id=operation, key=key, fingerprint=b"as asked", sealed=sealed)


class TestAKeyOfARepetition:
    def test_is_good_for_a_day(self):
        assert timedelta(days=1) == idempotency.RETENTION

    def test_locks_and_is_found_by_caller_operation_and_key_alone(self):
        keys = [scope().key, scope(caller="USER:2").key, scope(operation="breakToy").key, scope(key="l").key]
        assert len({(key.caller_key, key.digest) for key in keys}) == len({key.lock for key in keys}) == 4
        assert scope().key == keys[0]
        assert all(-(2**63) <= key.lock < 2**63 for key in keys)

    def test_shows_a_sealed_answer_to_the_same_request_alone(self):
        sealed, plain = scope(sealed=True), scope()
        seal = Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"seal\0k").digest()))
        for one, body in ((sealed, seal.encrypt(b"secret")), (plain, b"secret")):
            found = one.stored_response(plain.key.fingerprint, 201, '{"ETag":"1"}', body)
            assert isinstance(found, ReplayStored)
            assert (found.answer.status, found.answer.headers, found.answer.body) == (201, {"ETag": "1"}, b"secret")
            assert isinstance(one.stored_response(b"another", 201, "{}", body), IdempotencyKeyReused)
