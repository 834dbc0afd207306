"""The interface explains itself: OpenAPI, a page that renders it, and a page for every problem type."""

from __future__ import annotations

import html
from base64 import b64encode
from datetime import timedelta
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from typing import Any

from gridloom.kernel.problem import NotFound, known_problems
from gridloom.platform.database.clock import real_now
from gridloom.platform.events.openapi import add_events
from gridloom.platform.http import HTML, PUBLIC, Content, Request, ResponseBody, operation
from gridloom.platform.http.application import Application
from gridloom.platform.http.openapi.document import describe
from gridloom.platform.http.openapi.field_descriptions import field_descriptions
from gridloom.platform.http.openapi.parameters import share_parameters
from gridloom.platform.http.openapi.wording import add_descriptions, drop_unused
from gridloom.platform.release import release_name
from gridloom.settings import Settings

TAG = "Documentation"
SECURITY_TEXT_LIFETIME = timedelta(days=180)

_ASSETS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="/docs/assets/favicon-32x32.png">
{head}
</head>
<body>
{body}
</body>
</html>
"""

_START_READER = """
SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#reference", deepLinking: true, filter: true, docExpansion: "none",
  persistAuthorization: true, displayRequestDuration: true, validatorUrl: null, tryItOutEnabled: true,
});
"""

_READER = f"""<div id="reference"></div>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script>{_START_READER}</script>"""

_PLAIN_RULES = """
body { font: 17px/1.6 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1rem; color: #1d2733; }
h1 { font-size: 1.6rem; } a { color: #0b6e4f; } code { background: #eef2f1; padding: 0 .25em; border-radius: 3px; }
td, th { text-align: left; padding: .3rem 1rem .3rem 0; vertical-align: top; } .status { color: #5b6773; }
"""
_PLAIN_STYLE = f"<style>{_PLAIN_RULES}</style>"
_STYLE_HASH = f"'sha256-{b64encode(sha256(_PLAIN_RULES.encode()).digest()).decode()}'"

# The reader holds a token: no script but its own runs beside it, and no other site shows it in a frame.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    f"img-src 'self' data:; style-src 'self' {_STYLE_HASH}; connect-src 'self' http: https:; "
    f"script-src 'self' 'sha256-{b64encode(sha256(_START_READER.encode()).digest()).decode()}'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class OpenApiDocument:
    """The OpenAPI document of this service, made once, when it is first asked for: a start need not wait for it."""

    def __init__(self, edge: Application, settings: Settings) -> None:
        self._edge = edge
        self._settings = settings

    @cached_property
    def document(self) -> dict[str, Any]:
        return interface_document(self._edge, self._settings)


def interface_document(edge: Application, settings: Settings) -> dict[str, Any]:
    addresses = {settings.base_url: "Production", settings.sandbox_base_url: "Sandbox"}
    servers = list(addresses.items()) if len(addresses) > 1 else [(settings.base_url, "This service")]
    vocabulary = field_descriptions()
    document = describe(edge.operations, vocabulary, servers=servers)
    add_events(document)
    add_descriptions(document, vocabulary)
    share_parameters(document)
    drop_unused(document)
    return document


@operation("GET", "/openapi.json", summary="This interface as OpenAPI 3.1.0", access=PUBLIC)
async def read_interface(request: Request) -> dict[str, Any]:
    """The OpenAPI document, the same for every caller."""
    return request.resources[OpenApiDocument].document


@operation("GET", "/docs", summary="This interface as a page", access=PUBLIC, produces=(HTML,))
async def show_documentation(request: Request) -> Content:
    """Renders the OpenAPI document. Loads nothing from another host."""
    head = '<link rel="stylesheet" href="/docs/assets/swagger-ui.css">'
    return _make_page("Gridloom: the interface", _READER, head)


@operation(
    "GET",
    "/.well-known/security.txt",
    summary="Read the contact for reports of vulnerabilities",
    access=PUBLIC,
    produces=("text/plain",),
)
async def read_security_contact(request: Request) -> Content:
    """RFC 9116. `GRIDLOOM_SECURITY_CONTACT` names the contact; otherwise it is the project's policy."""
    settings = request.resources[Settings]
    expires = (await real_now(request.pool) + SECURITY_TEXT_LIFETIME).strftime("%Y-%m-%dT00:00:00Z")
    address = settings.base_url if settings.environment == "production" else settings.sandbox_base_url
    lines = [
        f"Contact: {settings.security_contact}",
        f"Expires: {expires}",
        "Preferred-Languages: en, de",
        f"Canonical: {address}/.well-known/security.txt",
    ]
    headers = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}
    return Content("".join(f"{line}\n" for line in lines).encode(), "text/plain; charset=utf-8", headers)


class ServiceIndex(ResponseBody):
    """Where to go from the service's address."""

    name: str
    version: str
    environment: str
    documentation: str
    interface: str
    console: str
    health: str


@operation("GET", "/", summary="Read the index of the service", access=PUBLIC)
async def show_front_page(request: Request) -> ServiceIndex:
    """A browser that asks for a page is led to the console instead."""
    return ServiceIndex(
        name="Gridloom",
        version=release_name(),
        environment=request.resources[Settings].environment,
        documentation="/docs",
        interface="/openapi.json",
        console="/console/",
        health="/health/ready",
    )


@operation(
    "GET",
    "/docs/assets/{assetName}",
    summary="A script, style or picture of the documentation",
    access=PUBLIC,
    produces=("application/octet-stream", *_ASSETS.values()),
)
async def read_documentation_asset(request: Request, asset_name: str) -> Content:
    """Files that the page at `/docs` loads."""
    if asset_name not in _ASSETS:
        raise NotFound(f"The documentation has no file {asset_name}.")
    headers = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}
    return Content(_read_asset(asset_name), _ASSETS[asset_name], headers)


@operation("GET", "/docs/problems", summary="Every problem type", access=PUBLIC, produces=(HTML,))
async def list_problem_types(request: Request) -> Content:
    """Each with its status and a link to its explanation."""
    rows = "".join(
        f'<tr><td class="status">{kind.status}</td><td><a href="{kind.type}">{html.escape(kind.title)}</a></td></tr>'
        for kind in known_problems()
    )
    return _make_page("Problem types", f"<h1>What can go wrong</h1><table>{rows}</table>", _PLAIN_STYLE)


@operation(
    "GET",
    "/docs/problems/{problemName}",
    summary="Explain a problem type",
    access=PUBLIC,
    produces=(HTML,),
)
async def explain_problem_type(request: Request, problem_name: str) -> Content:
    """A problem's `type` leads here."""
    for kind in known_problems():
        if kind.type.rsplit("/", 1)[-1] == problem_name:
            paragraphs = "".join(f"<p>{_render_prose(text)}</p>" for text in kind.documentation().split("\n\n"))
            body = f'<p class="status">{kind.status}</p><h1>{html.escape(kind.title)}</h1>{paragraphs}'
            return _make_page(kind.title, body + '<p><a href="/docs/problems">All problem types</a></p>', _PLAIN_STYLE)
    raise NotFound(f"There is no problem type {problem_name}.")


def _make_page(title: str, body: str, head: str) -> Content:
    text = _PAGE.format(title=html.escape(title), head=head, body=body)
    return Content(text.encode(), "text/html; charset=utf-8", _PAGE_HEADERS)


def _render_prose(text: str) -> str:
    pieces = html.escape(text, quote=False).split("`")
    return "".join(f"<code>{piece}</code>" if position % 2 else piece for position, piece in enumerate(pieces))


@cache
def _read_asset(name: str) -> bytes:
    return files("swagger_ui").joinpath("static", name).read_bytes()
