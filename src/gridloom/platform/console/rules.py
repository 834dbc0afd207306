"""Which requests come from the console's own pages, by headers that browsers set and pages cannot forge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gridloom.kernel.problem import Forbidden

READS = ("GET", "HEAD")
CSRF_HEADER = "x-gridloom-console"


class ForeignRequest(Forbidden, title="The request does not come from the console"):
    """The console's gateway answers only the console's own pages.

    A browser says where a request comes from (`Sec-Fetch-Site`, `Origin`); this one came from another site, or from no
    page at all, or it changes something without the header `X-Gridloom-Console: 1`. Programs use the interface itself,
    with a Bearer token.
    """


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    """Where the console lives."""

    addresses: tuple[str, ...]
    is_sandbox: bool

    def is_origin(self, origin: str, host: str) -> bool:
        """In the sandbox the address by which the service was reached counts as its own."""
        if origin in self.addresses:
            return True
        parts = urlsplit(origin)
        return self.is_sandbox and bool(host) and parts.scheme in ("http", "https") and parts.netloc == host


def check_origin(method: str, headers: Mapping[bytes, bytes], home: AllowedOrigins) -> None:
    """Refuse what does not come from a page of this origin."""
    site, origin, host = (_read_header(headers, name) for name in ("sec-fetch-site", "origin", "host"))
    if site and site != "same-origin":
        raise ForeignRequest(f"The request comes from a page that is {site}.")
    is_ours = bool(origin) and home.is_origin(origin, host)
    if origin and not is_ours:
        raise ForeignRequest(f"The request comes from {origin}.")
    if not site and not is_ours:
        raise ForeignRequest("The request does not say that it comes from a page of this address.")
    if method in READS:
        return
    if not is_ours:
        raise ForeignRequest("A change needs the Origin header of a page of this address.")
    if _read_header(headers, CSRF_HEADER) != "1":
        raise ForeignRequest("A change needs the header X-Gridloom-Console: 1.")


def reject_cross_origin(headers: Mapping[bytes, bytes], home: AllowedOrigins) -> None:
    """Signing in and out: pages of other origins may not, programs may."""
    site, origin, host = (_read_header(headers, name) for name in ("sec-fetch-site", "origin", "host"))
    if site and site not in ("same-origin", "none"):
        raise ForeignRequest(f"The request comes from a page that is {site}.")
    if origin and not home.is_origin(origin, host):
        raise ForeignRequest(f"The request comes from {origin}.")


def _read_header(headers: Mapping[bytes, bytes], name: str) -> str:
    return headers.get(name.encode(), b"").decode("latin-1").strip()
