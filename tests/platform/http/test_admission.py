"""Who is admitted: by network, second factor, permission, and the assets that a key was made for."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.people import client_of

from gridloom.platform.http import Caller, application
from gridloom.platform.http.admit import OutsideKeyAssets, reject_outside_key_assets
from gridloom.platform.http.application import Application

CALLER = Caller(
    id=UUID(int=1),
    kind="API_KEY",
    organisation_id=UUID(int=2),
    organisation_kind="PARTICIPANT",
    role="TRADER",
    permissions=frozenset({"Read:auctions"}),
    session_id=UUID(int=3),
    username="ada",
    display_name="Ada",
)
OFFICE, PLANT = (ipaddress.ip_network(text) for text in ("203.0.113.0/24", "203.0.113.64/26"))


class KnownCaller:
    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def known(self, token: str) -> Caller | None:
        return self.caller

    async def authenticate(self, token: str) -> Caller:
        raise AssertionError("it is known")


@pytest.fixture
def ask(toys: Application, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The status of a read that needs `Read:auctions`, and the name of its problem."""

    async def read(address: str = "203.0.113.70", **changes: Any) -> tuple[int, str]:
        monkeypatch.setattr(toys, "authenticator", KnownCaller(replace(CALLER, **changes)))
        async with client_of(toys, "token", address=address) as client:
            answer = await client.get(f"/toys/{uuid4()}")
        return answer.status_code, answer.json().get("type", "").rpartition("/")[2]

    return read


class TestACaller:
    async def test_needs_the_permission_of_the_operation(self, ask: Any) -> None:
        assert await ask() == (200, "")
        assert await ask(permissions=frozenset({"Read:schedules"})) == (403, "forbidden")

    @pytest.mark.parametrize(
        ("address", "status"), [("203.0.113.70", 200), ("203.0.113.5", 403), ("198.51.100.1", 403), ("::1", 403)]
    )
    async def test_comes_from_a_network_of_every_list(self, ask: Any, address: str, status: int) -> None:
        """The organisation's, and its key's."""
        for lists in (((OFFICE,), (PLANT,)), ((PLANT,), (OFFICE,))):
            assert (await ask(address, allowed_networks=lists))[0] == status
        assert (await ask(address, allowed_networks=()))[0] == 200

    async def test_who_has_to_set_up_a_second_factor_does_that_first(self, ask: Any) -> None:
        assert await ask(must_enrol=True) == (403, "second-factor-enrolment-required")

    async def test_with_a_key_for_certain_assets_reaches_nothing_else(self, ask: Any) -> None:
        assert await ask(physical_asset_ids=frozenset({UUID(int=9)})) == (403, "outside-key-assets")


class TestAKeyForCertainAssets:
    async def test_is_held_against_what_the_path_names(self, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[Any] = []
        monkeypatch.setattr(application, "reject_outside_key_assets", lambda request: seen.append(request.path_values))
        assert (await ask(physical_asset_ids=frozenset({UUID(int=9)})))[0] == 200
        assert (await ask())[0] == 200
        [values] = seen
        assert [(name, type(value)) for name, value in values.items()] == [("toy_id", UUID)]

    @pytest.mark.parametrize(
        ("named", "scope", "reached", "is_admitted"),
        [
            (UUID(int=9), None, {UUID(int=9)}, True),
            (UUID(int=8), None, {UUID(int=9)}, False),
            (UUID(int=9), None, set(), False),
            (None, None, {UUID(int=9)}, False),
            (None, "list", {UUID(int=9)}, True),
            (UUID(int=8), None, None, True),
        ],
        ids=["its own", "another", "none at all", "no asset", "a list of its own", "a key for all"],
    )
    def test_reaches_these_and_lists_of_them(
        self, named: UUID | None, scope: str | None, reached: set[UUID] | None, is_admitted: bool
    ) -> None:
        request: Any = SimpleNamespace(
            caller=replace(CALLER, physical_asset_ids=None if reached is None else frozenset(reached)),
            operation=SimpleNamespace(asset_scope=scope),
            path_values={} if named is None else {"physical_asset_id": named},
        )
        if is_admitted:
            reject_outside_key_assets(request)
        else:
            with pytest.raises(OutsideKeyAssets):
                reject_outside_key_assets(request)
