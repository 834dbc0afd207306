"""Spans of time as people type them: 1h, 90m, 1d12h, or ISO 8601's PT1H."""

from __future__ import annotations

import re

from gridloom_client.commands.terminal.ending import Misunderstood

_TYPED = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+)s)?", re.IGNORECASE)


def iso_duration(text: str) -> str:
    """What the service takes."""
    if text[:1] in ("P", "p"):
        return text.upper()
    found = _TYPED.fullmatch(text.replace(" ", ""))
    if found is None or not any(found.groups()):
        raise Misunderstood(f"{text} is no span of time; expected one such as 1h, 90m, 1d or PT1H.")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return f"P{days}DT{hours}H{minutes}M{seconds}S"
