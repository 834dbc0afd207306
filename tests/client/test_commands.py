"""Commands end with an answer or with one sentence and the right exit code."""

from __future__ import annotations

import asyncio
import json
import stat
import time
from datetime import datetime, timedelta

import httpx2
import pytest
from tests.client.conftest import Terminal
from tests.people import OPERATOR_USERNAME, PASSWORD, People

from gridloom_client import Tokens
from gridloom_client.profiles import Profile, Profiles, ProfileTokens, Secret


@pytest.fixture
async def signed_in(terminal: Terminal, people: People) -> Terminal:
    """A terminal at which the operator's ADMIN has signed in before."""
    person = await people.operator()
    tokens = Tokens(
        access_token=person.tokens.access, refresh_token=person.tokens.refresh, expires_at=time.time() + 900
    )
    profile = Profile(url=terminal.address, username=OPERATOR_USERNAME)
    Profiles(terminal.home / "gridloom").put("default", profile, Secret(tokens=tokens))
    return terminal


async def sign_in(terminal: Terminal) -> None:
    ended = await terminal("login", "--username", OPERATOR_USERNAME, "--password-stdin", typed=f"{PASSWORD}\n")
    assert ended.code == 0, ended.err


@pytest.mark.usefixtures("operator")
class TestSigningIn:
    async def test_is_remembered_where_only_the_user_can_read_it(self, terminal: Terminal):
        await sign_in(terminal)
        path = Profiles(terminal.home / "gridloom").path
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert PASSWORD not in path.read_text()
        me = json.loads((await terminal("whoami", "--json")).out)
        assert me["username"] == OPERATOR_USERNAME

    async def test_follows_from_accepting_an_invitation(
        self, terminal: Terminal, operator: httpx2.AsyncClient, new_organisation
    ):
        ours = await new_organisation()
        invited = await operator.post(
            f"/organisations/{ours.id}/invitations", json={"email": "ada@example.com", "role": "TRADER"}
        )
        token, name = invited.json()["token"], f"ada-{time.time_ns()}"
        weak = await terminal("join", "--username", name, "--stdin", typed=f"{token}\nshort\n")
        assert (weak.code, weak.err.count("\n")) == (1, 1)
        joined = await terminal("join", "--username", name, "--stdin", typed=f"{token}\nharbour-spindle-ochre-71\n")
        assert joined.code == 0, joined.err
        assert joined.out == f"Joined as TRADER and signed in to {terminal.address} as {name}.\n"
        me = json.loads((await terminal("whoami", "--json")).out)
        assert (me["username"], me["organisationID"]) == (name, str(ours.id))
        assert ours.name in (await terminal("whoami")).out
        again = await terminal(
            "join", "--username", f"{name}-2", "--stdin", typed=f"{token}\nharbour-spindle-ochre-71\n"
        )
        assert again.code != 0

    async def test_with_a_wrong_password_ends_with_one_sentence(self, terminal: Terminal):
        ended = await terminal("login", "--username", f"nobody-{time.time_ns()}", "--password-stdin", typed="wrong\n")
        assert ended.code == 3
        assert ended.err.count("\n") == 1
        assert "Traceback" not in ended.err

    async def test_renews_its_tokens_once_for_commands_that_run_at_once(self, signed_in: Terminal):
        file = ProfileTokens(Profiles(signed_in.home / "gridloom"), "default")
        old = file.load()
        assert old is not None
        file.save(Tokens(access_token=old.access_token, refresh_token=old.refresh_token, expires_at=0))
        ends = await asyncio.gather(*(signed_in("whoami", "--json") for _ in range(4)))
        assert [ended.code for ended in ends] == [0, 0, 0, 0], ends
        assert file.load() != old


class TestCommands:
    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (["call", "POST", "/organisations", "--data", "{"], 2),
            (["call", "POST", "/organisations", "--data", "@/no/such/file"], 2),
            (["assets", "show", "no-uuid"], 2),
            (["auctions", "bid", "01890000-0000-7000-8000-000000000001", "a-lot"], 2),
            (["no-such-command"], 2),
            (["login"], 2),
            (["call", "GET", "/organisations/not-a-uuid"], 1),
            (["assets", "show", "01890000-0000-7000-8000-000000000001"], 1),
        ],
        ids=lambda given: " ".join(given) if isinstance(given, list) else None,
    )
    async def test_end_with_a_sentence_and_never_with_a_traceback(
        self, signed_in: Terminal, arguments: list[str], code: int
    ):
        ended = await signed_in(*arguments)
        assert ended.code == code, ended
        assert "Traceback" not in ended.out + ended.err

    async def test_ask_any_service_for_its_health_whoever_is_signed_in_where(self, signed_in: Terminal):
        ended = await signed_in("health", "--url", signed_in.address.replace("127.0.0.1", "localhost"))
        assert (ended.code, ended.err) == (0, "")
        assert "answers" in ended.out


@pytest.fixture
async def auction(operator: httpx2.AsyncClient, people: People) -> tuple[str, str]:
    """An auction that opens at once, and an API key of an invited trader."""
    owner, trader = await people.new_organisation(), await people.new_organisation()
    permissions = ["Read:auctions", "Create:bids"]
    key = await trader.admin.post("/auth/api-keys", json={"name": "k", "permissions": permissions})
    parameters = {
        "ratedChargePower": 1000,
        "ratedDischargePower": 1000,
        "energyCapacity": 2000,
        "chargeEfficiency": 0.9,
        "dischargeEfficiency": 0.9,
    }
    where = {"deliveryZone": "Amprion"}
    new_asset = {"name": "A", "organisationID": str(owner.id), **where, "parameters": parameters}
    asset = (await operator.post("/physical-assets", json=new_asset)).json()
    now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
    delivery = (now + timedelta(days=2)).replace(minute=0, second=0, microsecond=0)
    window = {"start": delivery.isoformat(), "end": (delivery + timedelta(hours=4)).isoformat()}
    new_auction = {
        "start": (now + timedelta(seconds=4)).isoformat(),
        "end": (now + timedelta(hours=2)).isoformat(),
        "item": window | where | parameters,
        "backing": [{"physicalAssetID": asset["id"], "share": 1}],
        "participants": [str(trader.id)],
    }
    made = await operator.post("/auctions", json=new_auction)
    assert made.status_code == 201, made.text
    async with asyncio.timeout(120):
        while (await operator.get(f"/auctions/{made.json()['id']}")).json()["status"] != "RUNNING":
            await asyncio.sleep(0.1)
    return made.json()["id"], key.json()["secret"]


class TestAuctionCommands:
    async def test_show_what_is_offered_and_take_a_bid(self, terminal: Terminal, auction: tuple[str, str]):
        auction_id, secret = auction
        placed = await terminal("auctions", "bid", auction_id, "1250.50", "--json", GRIDLOOM_API_KEY=secret)
        assert placed.code == 0, placed.err
        shown = await terminal("auctions", "show", auction_id, GRIDLOOM_API_KEY=secret)
        assert "RUNNING" in shown.out
        assert "1,250.50" in shown.out
        refused = await terminal("auctions", "bid", auction_id, "1250.505", GRIDLOOM_API_KEY=secret)
        assert refused.code == 1
        assert "2 decimals" in refused.err
