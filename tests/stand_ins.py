"""Functions of a library replaced for one module: all else in this process, a service in the background among it, keeps
the library's own. (A pause that takes no time, given to a server's main loop, would have it go round for ever.)"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import pytest


def replace_for(monkeypatch: pytest.MonkeyPatch, module: ModuleType, library: str, **functions: object) -> None:
    """As in `replace_for(monkeypatch, listener, "asyncio", sleep=sleep)`."""
    monkeypatch.setattr(module, library, SimpleNamespace(**vars(getattr(module, library)) | functions))
