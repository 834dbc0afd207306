"""What the environment decides: read once, typed, with a clear sentence when a value makes no sense."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gridloom.database.environment import Environment


@dataclass(frozen=True, slots=True)
class Settings:
    environment: Environment = "sandbox"
    database_url: str | None = field(default=None, repr=False)
    home: Path = Path(".gridloom")
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 2
    base_url: str = "http://127.0.0.1:8000"
    sandbox_base_url: str = "http://127.0.0.1:8000"
    pool_size: int = 10
    rate_limit_per_minute: int = 600_000
    public_rate_limit_per_minute: int = 60_000
    metrics_token: str | None = field(default=None, repr=False)
    cors_origins: tuple[str, ...] = ()
    trusts_proxy: bool = False
    smtp_url: str | None = field(default=None, repr=False)
    mail_from: str = "Gridloom <noreply@localhost>"
