"""Serves the built guide, with a content security policy that allows just the scripts it was built with."""

from __future__ import annotations

import mimetypes
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from gridloom.kernel.problem import NotFound
from gridloom.platform.http.answer.render import COMPRESS_FROM_BYTES, EncodedResponse, compress, encoding_for

BUILT = Path(str(files("gridloom.platform.guide"))) / "static"
HOME = "/docs/guide/"
TEXT_INDEX = "/docs/llms.txt"
"""Every page as Markdown, listed for programs that read text (llmstxt.org)."""
_INTERNAL = frozenset({"policy.txt", "build.stamp"})
_MEDIA_TYPES = {".md": "text/markdown", ".txt": "text/plain"}  # not every machine's table has them
_UNCOMPRESSED = frozenset({".png", ".woff2", ".gz"})
_NOT_BUILT = (
    "The guide was not built: it needs the packages of the build. "
    "Its pages are the files under docs/ of the repository; the interface is at /docs."
)


class GuidePages:
    """Files of the built guide by their path below `/docs/guide/`."""

    def __init__(self, built: Path = BUILT) -> None:
        self._built = built
        self._encoded: dict[tuple[str, str | None], tuple[bytes, str | None]] = {}

    @cached_property
    def _built_files(self) -> dict[str, Path]:
        """Only what was built can be asked for, whatever the path says."""
        found = {path.relative_to(self._built).as_posix(): path for path in self._built.rglob("*") if path.is_file()}
        return {name: path for name, path in found.items() if name not in _INTERNAL}

    @cached_property
    def _content_policy(self) -> str:
        lines = (self._built / "policy.txt").read_text().splitlines() if self._built_files else []
        hashes = {kind: [line.split()[1] for line in lines if line.startswith(kind)] for kind in ("script", "style")}
        return "; ".join(
            (
                "default-src 'none'",
                " ".join(("script-src 'self'", *hashes["script"])),
                " ".join(("style-src 'self'", *hashes["style"])),
                "img-src 'self' data:",
                "font-src 'self'",
                "connect-src 'self'",
                "worker-src 'self'",
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
            )
        )

    async def read(self, path: str, accept_encoding: str | None) -> EncodedResponse:
        if not self._built_files:
            raise NotFound(_NOT_BUILT)
        name = f"{path}index.html" if path == "" or path.endswith("/") else path
        if name not in self._built_files and f"{name}/index.html" in self._built_files:
            return EncodedResponse(308, {"Location": f"{HOME}{name}/"}, b"")
        if name not in self._built_files:
            raise NotFound(f"The guide has no page {path}.")
        body, encoding = await self._encode_file(name, encoding_for(accept_encoding))
        media_type = _MEDIA_TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {
            "Content-Type": f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type,
            "Content-Security-Policy": self._content_policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "public, max-age=300",
            "Vary": "Accept-Encoding",
        }
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        return EncodedResponse(200, headers, body)

    async def _encode_file(self, name: str, encoding: str | None) -> tuple[bytes, str | None]:
        if Path(name).suffix in _UNCOMPRESSED:
            encoding = None
        found = self._encoded.get((name, encoding))
        if found is None:
            body = self._built_files[name].read_bytes()
            small = encoding is None or len(body) < COMPRESS_FROM_BYTES
            found = (body, None) if small or encoding is None else (await compress(body, encoding), encoding)
            self._encoded[name, encoding] = found
        return found
