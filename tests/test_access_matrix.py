"""Every operation, with every kind of caller who may not use it. New operations are walked over by being declared."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.access import (
    BELOW_ANOTHER,
    OPERATIONS,
    PROTECTED,
    SAMPLES,
    Access,
    ask,
    named,
    operations_in,
    parameters_of,
    walk_over,
)
from tests.expected_access import ALL, EXPECTED
from tests.people import People, client_of, wait_for_status

from gridloom.kernel.permission import Permission
from gridloom.platform.http import Operation
from gridloom.platform.identity.permissions import OrganisationKind, Role, permissions_of
from gridloom.platform.identity.signing_key_cache import SigningKeyCache

PUBLIC_PATHS = (
    *("/", "/auth/public/", "/docs", "/openapi.json", "/health/", "/metrics", "/console/session"),
    "/.well-known/security.txt",
)
"""Operations that the contract opens to all; the console's own files are at `/`."""


@pytest.fixture(scope="session")
async def forgeries(access: Access, people: People) -> dict[str, str]:
    """Tokens that look right and are not."""
    person = await people.add_member(access.world.owner.id, Role.ADMIN)
    header, claims = (
        jwt.get_unverified_header(person.tokens.access),
        jwt.decode(person.tokens.access, options={"verify_signature": False}),
    )
    ours = await access.world.edge.resources[SigningKeyCache].for_signing()
    public = ours.public.public_bytes(Encoding.Raw, PublicFormat.Raw)
    past = {**claims, "iat": int(time.time()) - 1000, "exp": int(time.time()) - 1}
    escalated = base64.urlsafe_b64encode(json.dumps({**claims, "sub": str(uuid4())}).encode()).decode().rstrip("=")
    first, _, last = person.tokens.access.split(".")
    return {
        "signed by a stranger": jwt.encode(
            claims, Ed25519PrivateKey.generate(), "EdDSA", headers={"kid": header["kid"]}
        ),
        "signed by an unknown key": jwt.encode(claims, Ed25519PrivateKey.generate(), "EdDSA", headers={"kid": "mine"}),
        "not signed": jwt.encode(claims, "", "none", headers={"kid": header["kid"]}),
        "signed with the public key": jwt.encode(claims, public, "HS256", headers={"kid": header["kid"]}),
        "expired": jwt.encode(past, ours.private, "EdDSA", headers={"kid": header["kid"]}),
        "never expiring": jwt.encode(
            {name: value for name, value in claims.items() if name != "exp"},
            ours.private,
            "EdDSA",
            headers={"kid": header["kid"]},
        ),
        "of another session": jwt.encode(
            {**claims, "sid": str(uuid4())}, ours.private, "EdDSA", headers={"kid": header["kid"]}
        ),
        "with other claims": f"{first}.{escalated}.{last}",
        "a refresh token": person.tokens.refresh,
        "noise": "x" * 3000,
    }


@pytest.fixture(scope="session")
async def revoked(access: Access, people: People) -> dict[str, str]:
    """Tokens that worked until a moment ago."""
    person = await people.add_member(access.world.owner.id, Role.ADMIN)
    wanted = {"name": "Revoked", "permissions": list(permissions_of(Role.ADMIN, OrganisationKind.PARTICIPANT))}
    key = (await person.client.post("/auth/api-keys", json=wanted)).json()
    async with client_of(access.world.edge, key["secret"]) as machine:
        assert (await machine.get("/auth/me")).status_code == 200
    await person.client.delete(f"/auth/api-keys/{key['id']}")
    assert (await person.client.get("/auth/me")).status_code == 200
    await person.client.post("/auth/logout")
    revoked = {"API key": key["secret"], "session": person.tokens.access}
    for token in revoked.values():
        async with client_of(access.world.edge, token) as caller:
            await wait_for_status(caller, 401)
    return revoked


def _read_test_of(room: str) -> str:
    [found] = Path(__file__).parent.glob(f"**/{room}/test_expected_access.py")
    return found.read_text(encoding="utf-8")


class TestTheMatrix:
    def test_has_a_sample_for_every_path_parameter(self) -> None:
        known = {"organisationID", *SAMPLES, *BELOW_ANOTHER}
        for operation in PROTECTED:
            for name in parameters_of(operation):
                assert name in known, (
                    f"{named(operation)} takes {{{name}}}, of which this matrix has no sample: add one to SAMPLES "
                    "(or to BELOW_ANOTHER if it never stands first in a path) in tests/access.py"
                )

    def test_knows_every_permission_that_an_operation_asks_for(self) -> None:
        words = {*Permission, None}
        assert [named(operation) for operation in PROTECTED if operation.access.permission not in words] == []

    def test_expects_for_every_operation_what_the_contract_names(self) -> None:
        declared = {named(operation): str(operation.access) for operation in OPERATIONS}
        assert declared == {name: access for name, access in ALL.items() if not name.split()[1].startswith("/sandbox")}

    def test_has_a_stranger_try_every_operation_in_its_room(self) -> None:
        """But for events, which are streams of one's own."""
        tried = [room for room in EXPECTED if f'try_as_stranger("{room}")' in _read_test_of(room)]
        left = {named(one) for one in PROTECTED} - {named(one) for room in tried for one in operations_in(room)}
        assert left == {"GET /events"}

    def test_lets_the_public_in_only_where_the_contract_does(self) -> None:
        for operation in OPERATIONS:
            if operation.access.is_public:
                assert operation.path == "/" or operation.path.startswith(PUBLIC_PATHS[1:]), named(operation)


class TestEveryOperation:
    async def test_refuses_a_caller_without_a_token(self, access: Access) -> None:
        async def check(operation: Operation) -> None:
            async with client_of(access.world.edge) as nobody:
                answer = await ask(nobody, operation, access.sampler, access.world.ids)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["content-type"] == "application/problem+json"

        await walk_over(PROTECTED, check)

    async def test_refuses_forged_tokens(self, access: Access, forgeries: dict[str, str]) -> None:
        async def check(operation: Operation) -> None:
            for what, token in forgeries.items():
                async with client_of(access.world.edge, token) as forger:
                    answer = await ask(forger, operation, access.sampler, access.world.ids)
                assert answer.status_code == 401, f"a token {what} got {answer.status_code}"

        await walk_over(PROTECTED, check)

    async def test_refuses_a_revoked_key_and_an_ended_session(self, access: Access, revoked: dict[str, str]) -> None:
        async def check(operation: Operation) -> None:
            for what, token in revoked.items():
                async with client_of(access.world.edge, token) as late:
                    answer = await ask(late, operation, access.sampler, access.world.ids)
                assert answer.status_code == 401, f"a revoked {what} got {answer.status_code}"

        await walk_over(PROTECTED, check)

    async def test_refuses_a_role_without_the_permission(self, access: Access) -> None:
        async def check(operation: Operation) -> None:
            for role, person in access.world.owner.people.items():
                if ALL[named(operation)] in {"signed-in", *permissions_of(role, OrganisationKind.PARTICIPANT)}:
                    continue
                answer = await ask(person.client, operation, access.sampler, access.world.ids)
                assert answer.status_code == 403, f"{role} got {answer.status_code}"

        await walk_over(PROTECTED, check)


class TestAnIssuedStatement:
    async def test_is_read_by_its_own_organisation_and_is_unknown_below_any_other(self, access: Access) -> None:
        path = f"/organisations/{{}}/statements/{access.world.ids['statementID']}"
        own = await access.world.owner.viewer.get(path.format(access.world.owner.id))
        assert own.status_code == 200
        assert own.json()["number"] == "2020-0001"
        assert (await access.world.stranger.admin.get(path.format(access.world.owner.id))).status_code == 403
        assert (await access.world.stranger.admin.get(path.format(access.world.stranger.id))).status_code == 404
        assert (await access.world.operator.get(path.format(access.world.owner.id))).content == own.content
