"""Addresses of PostgreSQL as people write them, passwords with every punctuation mark included."""

import re
from typing import Final
from urllib.parse import quote, unquote

_HOSTS: Final = r"(?P<hosts>[\w.\-,:\[\]%]*)(?P<path>/[^/?#@]*)?(?P<query>\?\w+=[^&#]*(?:&\w+=[^&#]*)*)?/?"
_AS_WRITTEN: Final = re.compile(rf"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^/?#@]*)@)?{_HOSTS}")
_LAST_AT: Final = re.compile(rf"(?P<scheme>postgres(?:ql)?://)(?P<user>.+)@{_HOSTS}", re.DOTALL)
_PORT: Final = re.compile(r"(?:[\w.\-%]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_ADVICE: Final = "percent-encode the password: / is %2F, # is %23, ? is %3F, @ is %40, : is %3A, % is %25"


def parse_database_address(text: str) -> str:
    """The address with user and password percent-encoded; a ValueError, without the password, where it has no reading.

    A password may hold what has a meaning in an address, such as `/`, `#`, `?` and `@`: the last `@` ends it. A `%`
    that two hexadecimal digits follow is one of an encoded password.
    """
    text = re.sub(r"^(postgres(?:ql)?):/(?!/)", r"\1:///", text)  # as a parser of addresses writes one without a host
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("must be an address that starts with postgresql:// or postgres://")
    for reading in (_AS_WRITTEN, _LAST_AT):
        found = reading.fullmatch(text)
        if found is not None and _has_place(found) and all(map(_PORT.fullmatch, found["hosts"].split(","))):
            return f"{found['scheme']}{_encode_credentials(found['user'])}{text[found.start('hosts') :].rstrip('/')}"
    raise ValueError(f"cannot be read; where it has a password, {_ADVICE}")


def _has_place(found: re.Match[str]) -> bool:
    return bool(found["hosts"] or found["query"] or (found["path"] or "").strip("/"))


def _encode_credentials(credentials: str | None) -> str:
    if credentials is None:
        return ""
    user, colon, password = credentials.partition(":")
    return f"{_encode_part(user)}{colon}{_encode_part(password)}@"


def _encode_part(part: str) -> str:
    """As it is where it is encoded already, else encoded."""
    is_encoded = not re.search(r"%(?![0-9A-Fa-f]{2})", part)
    return quote(unquote(part) if is_encoded else part, safe="")
