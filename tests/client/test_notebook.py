"""The notebook of the tutorials does what it shows, cell by cell, in a real kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.grammars import leave_out_grammars
from tests.people import OPERATOR_USERNAME, PASSWORD

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"


@pytest.mark.usefixtures("operator")
class TestANotebook:
    async def test_runs_and_shows_tables_and_problems_as_html(
        self, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        leave_out_grammars()
        import nbformat  # here, since every process of a run imports all tests
        from nbclient import NotebookClient

        for name, value in (
            ("GRIDLOOM_URL", address),
            ("GRIDLOOM_USERNAME", OPERATOR_USERNAME),
            ("GRIDLOOM_PASSWORD", PASSWORD),
            ("IPYTHONDIR", str(tmp_path)),
            ("JUPYTER_RUNTIME_DIR", str(tmp_path)),
        ):
            monkeypatch.setenv(name, value)
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        kernel = NotebookClient(notebook, timeout=120, kernel_name="python3")
        await kernel.async_execute()
        outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
        html = [_text_of(output["data"]["text/html"]) for output in outputs if "text/html" in output.get("data", {})]
        assert any("Büsum" in shown for shown in html)
        assert any("92 rows" in shown for shown in html)
        assert any("one of 50Hertz, Amprion, TenneT, TransnetBW" in shown for shown in html)
        printed = "".join(_text_of(output["text"]) for output in outputs if output.output_type == "stream")
        assert "has no offset" in printed


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else "".join(value)
