"""Builds the guide from docs/ into the package: `python guide/build.py`; strictly, so that a broken link is an error.

Writes `policy.txt` beside it: the hashes of the scripts and styles that stand in its pages, which the service puts into
their content security policy.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
from base64 import b64encode
from pathlib import Path

GUIDE = Path(__file__).parent
ROOT = GUIDE.parent
BUILT = ROOT / "src" / "gridloom" / "platform" / "guide" / "static"
STAMP = BUILT / "build.stamp"
SOURCES = ("docs", "guide", "openapi.json", "src/gridloom_client/operations.py")
_INLINE = re.compile(rb"<(script|style)(?![^>]*\ssrc=)[^>]*>(.*?)</\1>", re.DOTALL)


def build() -> bool:
    """Build if a source has changed; whether anything was built."""
    wanted = fingerprint()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return False
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    sys.path[:0] = [str(ROOT / "src")]
    shutil.rmtree(BUILT, ignore_errors=True)
    build_site(load_config(str(GUIDE / "mkdocs.yml")))
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        (BUILT / name).unlink(missing_ok=True)
    loaded = find_loaded_from_outside()
    if loaded:
        sys.exit(f"The guide would load from outside: {', '.join(sorted(loaded))}")
    (BUILT / "policy.txt").write_text("\n".join(inline_hashes()) + "\n")
    STAMP.write_text(wanted)
    return True


def fingerprint() -> str:
    digest = hashlib.sha256()
    for source in SOURCES:
        top = ROOT / source
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def inline_hashes() -> list[str]:
    """`kind 'sha256-…'` of every script and style that stands in a page."""
    found = {
        f"{kind.decode()} 'sha256-{b64encode(hashlib.sha256(text).digest()).decode()}'"
        for page in BUILT.rglob("*.html")
        for kind, text in _INLINE.findall(page.read_bytes())
        if text.strip()
    }
    return sorted(found)


def find_loaded_from_outside() -> set[str]:
    """Addresses from which a page would load a script, style or picture; links that a reader follows are none."""
    loaded = re.compile(rb"""<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=["']?((?:https?:)?//[^"' >]+)""")
    return {address.decode() for page in BUILT.rglob("*.html") for address in loaded.findall(page.read_bytes())}


if __name__ == "__main__":
    sys.stdout.write("The guide is built.\n" if build() else "")
