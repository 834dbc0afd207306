"""Runs what checks and tests the console, with the Bun of the environment: `python web/tools.py check`."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from build import ROOT, WEB, find_bun

TYPES = WEB / "src" / "shared" / "api" / "schema.d.ts"
SCRIPTS = {"check": ("lint", "typecheck"), "format": ("format",), "dev": ("dev",)}


def write_types() -> None:
    """The types of the interface, with the fingerprint of the document that they were made from."""
    mark = f"// {fingerprint_of_interface()}\n"
    if TYPES.is_file() and TYPES.read_text().startswith(mark):
        return
    subprocess.run([find_bun(), "--bun", "run", "types"], cwd=WEB, check=True, stdout=subprocess.DEVNULL)
    TYPES.write_text(mark + TYPES.read_text())


def fingerprint_of_interface() -> str:
    return hashlib.sha256((ROOT / "openapi.json").read_bytes()).hexdigest()


def main() -> int:
    task = sys.argv[1]
    if task == "test":
        return subprocess.run([find_bun(), "test", *sys.argv[2:]], cwd=WEB, check=False).returncode
    if task in ("types", "check"):
        write_types()
    for script in SCRIPTS.get(task, ()):
        done = subprocess.run([find_bun(), "--bun", "run", script, *sys.argv[2:]], cwd=WEB, check=False)
        if done.returncode != 0:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
