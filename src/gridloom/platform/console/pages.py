"""The console's files as they were built: what is named by its hash is cached for a year, the page itself never."""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from gridloom.kernel.problem import NotFound
from gridloom.platform.http.answer.render import COMPRESS_FROM_BYTES, EncodedResponse, compress, encoding_for

BUILT = Path(str(files("gridloom.platform.console"))) / "static"
FOR_A_YEAR = "public, max-age=31536000, immutable"
UNCOMPRESSED_TYPES = (".woff2", ".png", ".webp")
_HASHED = re.compile(r"[A-Za-z0-9_.-]+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+")

# The one style that react-aria writes itself; every other comes from a file.
REACT_ARIA_STYLE = "@layer {\n  [data-react-aria-pressable] {\n    touch-action: pan-x pan-y pinch-zoom;\n  }\n}"

_NOT_BUILT = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Gridloom</title></head>
<body>
<h1>The console was not built</h1>
<p>The service runs, without its console: when it was started, the packages that the console is made of could not be
had. Start it again with <code>make run</code> where a package registry can be reached. The interface is described
at <a href="/docs">/docs</a>.</p>
</body>
</html>
"""


def style_hash(style: str) -> str:
    return f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"


POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' {style_hash(REACT_ARIA_STYLE)}",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
_SAFE = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class StaticFiles:
    """Holds what was asked for, compressed once."""

    def __init__(self, built: Path = BUILT) -> None:
        self._built = built
        self._cache: dict[tuple[str, str | None], tuple[bytes, str | None]] = {}

    @property
    def is_built(self) -> bool:
        return (self._built / "index.html").is_file()

    async def read(self, path: str, accept_encoding: str | None) -> EncodedResponse:
        """The response of a path below `/console/`: a file, or for every screen the one page."""
        if path.startswith("assets/"):
            return await self._find_file(path, accept_encoding)
        if not self.is_built:
            headers = {**_SAFE, "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"}
            return EncodedResponse(503, headers, _NOT_BUILT.encode())
        page = (self._built / "index.html").read_bytes()
        headers = {**_SAFE, "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"}
        return EncodedResponse(200, headers, page)

    async def _find_file(self, path: str, accept_encoding: str | None) -> EncodedResponse:
        name = path.removeprefix("assets/")
        if not _HASHED.fullmatch(name) or not (self._built / "assets" / name).is_file():
            raise NotFound(f"The console has no file {path}.")
        encoding = None if name.endswith(UNCOMPRESSED_TYPES) else encoding_for(accept_encoding)
        body, encoding = await self._encode_page(name, encoding)
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if media_type.startswith("text/") or media_type.endswith("javascript"):
            media_type += "; charset=utf-8"
        headers = {**_SAFE, "Content-Type": media_type, "Cache-Control": FOR_A_YEAR, "Vary": "Accept-Encoding"}
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        return EncodedResponse(200, headers, body)

    async def _encode_page(self, name: str, encoding: str | None) -> tuple[bytes, str | None]:
        cached = self._cache.get((name, encoding))
        if cached is None:
            body = (self._built / "assets" / name).read_bytes()
            if encoding is None or len(body) < COMPRESS_FROM_BYTES:
                cached = body, None
            else:
                cached = await compress(body, encoding, is_kept=True), encoding
            self._cache[name, encoding] = cached
        return cached
