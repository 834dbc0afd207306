"""Builds a release into dist/ and proves that its wheel serves: `make release VERSION=0.2.0`.

Wheel, source archive, software bill of materials (CycloneDX) and checksums. The wheel is then installed into a clean
environment with the locked packages and must serve a production with its console.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
TOOLS = Path(sys.executable).parent
START_TIMEOUT_S = 120


def main(version: str) -> None:
    check_release(version, ROOT)
    shutil.rmtree(DIST, ignore_errors=True)
    run(TOOLS / "uv", "build", "--quiet", "--no-build-isolation", "--out-dir", DIST, ROOT)
    bill = DIST / f"gridloom-{version}.cdx.json"
    run(TOOLS / "cyclonedx-py", "requirements", "requirements/server.lock", "--output-file", bill)
    write_checksums(DIST)
    prove_wheel(DIST / f"gridloom-{version}-py3-none-any.whl", version)
    say("\n".join(sorted(path.name for path in DIST.iterdir() if not path.name.startswith("."))))


def check_release(version: str, root: Path) -> None:
    """The version is a semantic one, the package's own, what deploy/ names, dated in the changelog and not tagged yet;
    nothing is uncommitted."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"{version or 'VERSION'} is not a version such as 0.2.0.")
    package = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    if package != version:
        sys.exit(f"pyproject.toml says {package}, not {version}.")
    if not re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text(), re.M):
        sys.exit(f"CHANGELOG.md has no section '## {version} - YYYY-MM-DD'.")
    others = find_named_versions(root) - {version}
    if others:
        sys.exit(
            f"deploy/ names {', '.join(sorted(others))} in place of {version}: the chart, the manifests, the image."
        )
    list_tags = ["git", "tag", "--list", f"v{version}"]
    tagged = subprocess.run(list_tags, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603
    if tagged.stdout.strip():
        sys.exit(f"v{version} is tagged already: a release is made once. Choose the next version.")
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True)  # noqa: S607
    if changed.stdout.strip():
        sys.exit(f"There are uncommitted changes:\n{changed.stdout}")


def find_named_versions(root: Path) -> set[str]:
    """The versions of Gridloom that the examples of its deployment name."""
    named = re.compile(
        r"(?:gridloom:|gridloom-migrate-|[A-Z_]VERSION=|^(?:appV|v)ersion: )(\d+\.\d+\.\d+)", re.MULTILINE
    )
    examples = (path for path in (root / "deploy").rglob("*") if path.suffix in {".yaml", ".example", ""})
    return {found for path in examples if path.is_file() for found in named.findall(path.read_text())}


def write_checksums(directory: Path) -> None:
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(directory.iterdir())
        if path.suffix in {".whl", ".gz", ".json"}
    ]
    (directory / "SHA256SUMS").write_text("".join(lines))


def prove_wheel(wheel: Path, version: str) -> None:
    """Serve a production from the wheel alone, with a home of its own, and ask it what a user would."""
    with tempfile.TemporaryDirectory(prefix="gridloom-release-") as name:
        home = Path(name)
        run(TOOLS / "uv", "venv", "--quiet", home / "venv")
        install = [TOOLS / "uv", "pip", "install", "--quiet", "--python", home / "venv/bin/python"]
        run(*install, "--require-hashes", "-r", "requirements/server.lock")
        run(*install, "--no-deps", wheel)
        port, password = find_free_port(), secrets.token_urlsafe(18)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GRIDLOOM_", "PYTHON"))},
            "GRIDLOOM_ENVIRONMENT": "production",
            "GRIDLOOM_HOME": str(home / "home"),
            "GRIDLOOM_PORT": str(port),
            "GRIDLOOM_BASE_URL": "https://gridloom.example.com",
            "GRIDLOOM_SECRETS_KEY": secrets.token_urlsafe(32),
            "GRIDLOOM_BOOTSTRAP_USERNAME": "operator",
            "GRIDLOOM_BOOTSTRAP_PASSWORD": password,
        }
        command = [home / "venv/bin/gridloom", "serve"]
        with subprocess.Popen(command, env=environment, cwd=home, start_new_session=True) as service:  # noqa: S603
            try:
                ask_service(f"http://127.0.0.1:{port}", version, password)
            finally:
                service.send_signal(signal.SIGTERM)
                service.wait(60)


def ask_service(address: str, version: str, password: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while fetch(f"{address}/health/ready")[0] != 200:
        if time.monotonic() > deadline:
            sys.exit("The wheel's service did not become ready.")
        time.sleep(0.2)
    status, index = fetch(address)
    found = json.loads(index)["version"] if status == 200 else None
    if found != version:
        sys.exit(f"The wheel's service says version {found}, not {version}.")
    status, page = fetch(f"{address}/console/")
    if status != 200 or b"<script" not in page:
        sys.exit("The wheel has no console.")
    credentials = json.dumps({"username": "operator", "password": password}).encode()
    status, _ = fetch(f"{address}/auth/public/authenticate", credentials)
    if status != 200:
        sys.exit(f"The operator cannot sign in ({status}).")
    say(f"The wheel serves {version} in production, with its console.")


def fetch(address: str, body: bytes | None = None) -> tuple[int, bytes]:
    headers = {"Content-Type": "application/json", "Accept": "application/json, */*"}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=10) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True)  # noqa: S603


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
