"""An OpenID Connect provider of a life: it signs in whom a script names, and refuses everyone else."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

CLIENT = "gridloom"


class IdentityProvider:
    """Discovery, keys and the exchange of codes; what a browser would do at it is done by the script."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._granted: dict[str, dict[str, Any]] = {}
        self.issuer = ""

    def grant(self, nonce: str, email: str) -> str:
        """The code with which the browser of a person comes back."""
        code = f"code-{len(self._granted)}"
        self._granted[code] = {"nonce": nonce, "email": email, "email_verified": True, "sub": email, "name": email}
        return code

    def answer(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
            }
        if path == "/jwks":
            point = self._key.public_key().public_numbers()
            shown = {name: _encode(number.to_bytes(32, "big")) for name, number in (("x", point.x), ("y", point.y))}
            return 200, {"keys": [{"kty": "EC", "crv": "P-256", "kid": "1", "use": "sig", "alg": "ES256", **shown}]}
        granted = self._granted.pop(parse_qs(body.decode()).get("code", [""])[0], None)
        if path != "/token" or granted is None:
            return 400, {"error": "invalid_grant"}
        return 200, {"token_type": "Bearer", "access_token": "none", "id_token": self._sign(granted)}

    def _sign(self, claims: dict[str, Any]) -> str:
        now = int(time.time())
        claims = {**claims, "iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300}
        head = _encode(json.dumps({"alg": "ES256", "kid": "1"}).encode())
        text = f"{head}.{_encode(json.dumps(claims).encode())}"
        r, s = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@asynccontextmanager
async def running_provider() -> AsyncIterator[IdentityProvider]:
    provider = IdentityProvider()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ", 2)[1]
        sizes = [int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length:")]
        status, said = provider.answer(path, await reader.readexactly(sum(sizes)))
        content = json.dumps(said).encode()
        writer.write(
            f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
            "Connection: close\r\n\r\n".encode()
            + content
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    provider.issuer = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        server.close()
