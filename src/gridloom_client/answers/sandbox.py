"""Answers of the sandbox."""

from __future__ import annotations

from datetime import datetime

from gridloom_client.answers.answered import Answered


class Clock(Answered):
    now: datetime
