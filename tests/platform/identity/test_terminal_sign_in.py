"""Signing in at a terminal: by single sign-on in a browser, with a second factor, and what one manages there."""

import asyncio
import json
import os
import pty
import re
import sys
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pyotp
import pytest
import uvicorn
from tests.client.conftest import Terminal
from tests.conftest import running
from tests.people import PASSWORD, People
from tests.platform.identity.openid_provider import ADA, running_provider, tell
from tests.ports import free_port

from gridloom.platform.identity.permissions import Role

BROWSER = f"{sys.executable} {Path(__file__).parent / 'fake_browser.py'} %s"


@pytest.fixture(scope="module")
async def served(settings, unused_port):
    """The service on a port that is known beforehand: the provider sends browsers back to it."""
    address = f"http://127.0.0.1:{unused_port}"
    async with running(replace(settings, base_url=address, sandbox_base_url=address)) as edge:
        server = uvicorn.Server(uvicorn.Config(edge, port=unused_port, lifespan="off", log_level="warning"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        yield edge, address
        server.should_exit = server.force_exit = True
        await serving


@pytest.fixture(scope="module")
def unused_port():
    return free_port()


@pytest.fixture(scope="module")
def issuer(tmp_path_factory, unused_port):
    callback = f"http://127.0.0.1:{unused_port}/auth/public/sso/callback"
    with running_provider(tmp_path_factory.mktemp("oidc"), callback) as address:
        yield address


@pytest.fixture
async def organisation(served):
    async with People(served[0]) as people:
        yield await people.new_organisation()


@pytest.fixture
def terminal(served, tmp_path, command_server):
    return Terminal(tmp_path, served[1], command_server)


async def sign_in(terminal, person):
    ended = await terminal("login", "--username", person.username, "--password-stdin", typed=f"{PASSWORD}\n")
    assert ended.code == 0, ended.err


async def type_at(terminal, *arguments, answers):
    """Run a command on a terminal of its own, and answer each prompt that ends so; what it has shown."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        "gridloom",
        *arguments,
        env=terminal.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown, waiting = "", list(answers)

    def read_some():
        try:
            return os.read(ours, 4096).decode()
        except OSError:
            return ""

    while more := await asyncio.wait_for(asyncio.to_thread(read_some), 60):
        shown += re.sub(r"\x1b\[[0-9;]*m", "", more)
        if waiting and shown.rstrip(" ").endswith(waiting[0][0]):
            typed = waiting.pop(0)[1]
            os.write(ours, (typed(shown) if callable(typed) else typed).encode() + b"\n")
            shown += "\n"
    code = await asyncio.wait_for(process.wait(), 120)
    os.close(ours)
    return code, shown


class TestLoginBySingleSignOn:
    async def test_goes_through_the_browser_to_the_provider_and_back(self, terminal, organisation, issuer):
        body = {"issuer": issuer, "clientID": "gridloom", "clientSecret": "secret of the client"}
        path = f"/organisations/{organisation.id}/identity-provider"
        more = {"domains": ["example.org"], "defaultRole": "TRADER"}
        assert (await organisation.admin.put(path, json={**body, **more})).status_code == 200
        await tell(issuer, {**ADA, "sub": f"ada-{uuid4()}"})
        ended = await terminal("login", "--sso", str(organisation.id), BROWSER=BROWSER)
        assert ended.code == 0, ended.err
        assert ended.out.startswith(f"Signed in to {terminal.address} as ada@example.org")
        assert "Sign in with your browser: http://" in ended.err
        me = json.loads((await terminal("whoami", "--json")).out)
        assert (me["role"], me["organisationID"]) == ("TRADER", str(organisation.id))

    async def test_of_an_organisation_without_a_provider_ends_at_once_with_a_sentence(self, terminal, organisation):
        ended = await terminal("login", "--sso", str(organisation.id), BROWSER=BROWSER)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.count("\n") == 1
        assert "Traceback" not in ended.err


class TestTheLoginPrompt:
    async def test_says_where_it_signs_in_and_asks_for_name_password_and_code(self, terminal, organisation):
        person = organisation.people[Role.TRADER]
        begun = (await person.client.post("/auth/totp")).json()
        device = pyotp.TOTP(begun["secret"])
        confirmed = await person.client.put("/auth/totp", json={"code": device.now()})
        assert confirmed.status_code == 200, confirmed.text
        recovery = confirmed.json()["recoveryCodes"][0]
        answers = [("Username:", person.username), ("Password:", PASSWORD), ("Code, or recovery code:", recovery)]
        code, shown = await type_at(terminal, "login", answers=answers)
        assert code == 0, shown
        assert re.search(r"Gridloom [0-9.]+\S* at http://127", shown)
        assert PASSWORD not in shown
        assert f"Signed in to {terminal.address} as {person.username}." in shown


class TestCredentialsAtATerminal:
    async def test_keys_are_made_used_listed_and_revoked(self, terminal, organisation):
        await sign_in(terminal, organisation.people[Role.ENGINEER])
        made = await terminal("keys", "create", "Gateway", "Read:physical-assets")
        assert made.code == 0, made.err
        secret = made.out.strip()
        assert (await terminal("whoami", GRIDLOOM_API_KEY=secret)).code == 0
        (key,) = json.loads((await terminal("keys", "list", "--json")).out)
        assert (key["name"], "secret" in key) == ("Gateway", False)
        table = (await terminal("keys", "list")).out
        assert "Gateway" in table
        assert max(map(len, table.splitlines())) <= 80
        assert (await terminal("keys", "revoke", key["id"], "--yes")).out == "Revoked.\n"
        assert (await terminal("keys", "list")).out == "No API keys.\n"

    async def test_a_second_factor_is_set_up_and_removed(self, terminal, organisation):
        await sign_in(terminal, organisation.people[Role.VIEWER])

        def read_code(shown):
            (secret,) = re.findall(r"Secret\s+(\S+)", shown)
            return pyotp.TOTP(secret).now()

        code, shown = await type_at(terminal, "second-factor", "enable", answers=[("Code that it shows:", read_code)])
        assert code == 0, shown
        codes = re.findall(r"^  (\S+)\r?$", shown, re.MULTILINE)
        assert len(codes) >= 8, shown
        ended = await terminal("second-factor", "disable", typed=f"{codes[0]}\n")
        assert ended.out == "Removed.\n", ended.err
