"""Where the workers of one service put their figures, so that any of them can tell all of them."""

from __future__ import annotations

import os
import shutil
import sys

from gridloom.settings import Settings


def share_figures(settings: Settings) -> None:
    """To be called before prometheus_client is loaded: it looks at its environment once, then."""
    if settings.metrics_token is None and settings.metrics_port is None:
        return
    assert "prometheus_client" not in sys.modules, "too late"
    directory = (settings.home / "metrics").absolute()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
