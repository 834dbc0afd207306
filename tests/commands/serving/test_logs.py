"""Logs tell what happened and keep secrets."""

import io
import json
import logging
import sys

import pytest
import structlog

from gridloom.commands.serving.logs import configure_logs

pytestmark = pytest.mark.pure


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch):
    stream, root = io.StringIO(), logging.getLogger()
    handlers, level = list(root.handlers), root.level
    monkeypatch.setattr(sys, "stderr", stream)
    configure_logs("json")
    yield stream
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


class TestLogs:
    def test_have_one_way_out_however_often_they_are_set_up(self, written: io.StringIO):
        for level in ("WARNING", "INFO"):
            configure_logs("json", level)
            root = logging.getLogger()
            assert (len(root.handlers), logging.getLevelName(root.level)) == (1, level)


class TestALogLine:
    def test_is_one_json_object(self, written: io.StringIO):
        structlog.get_logger("test").info("request", status=404, path="/x")
        line = json.loads(written.getvalue())
        assert (line["event"], line["level"], line["status"]) == ("request", "info", 404)

    @pytest.mark.parametrize(
        "fields",
        [
            {"password": "hunter22-hunter22"},
            {"refresh_token": "hunter22-hunter22"},
            {"client_secret": "hunter22-hunter22"},
            {"Authorization": "hunter22-hunter22"},
            {"api_key": "hunter22-hunter22"},
            {"apikey": "hunter22-hunter22"},
            {"dsn": "hunter22-hunter22"},
            {"database_url": "hunter22-hunter22"},
            {"header": "Bearer hunter22-hunter22"},
            {"note": "key glk_hunter22-hunter22 failed"},
            {"url": "postgresql://gridloom:hunter22-hunter22@db/x"},
        ],
    )
    def test_hides_secrets(self, written: io.StringIO, fields: dict[str, str]):
        structlog.get_logger("test").info("request", **fields)
        assert "hunter22" not in written.getvalue()

    def test_on_a_terminal_holds_no_control_characters_of_a_caller(self, written: io.StringIO, monkeypatch):
        monkeypatch.setattr(sys, "stderr", written)
        configure_logs("console")
        structlog.get_logger("test").info(
            "request", path="/x\x1b[2J\x07\n2026-01-01 [info] forged", agent="\u202etxt\x9b1m"
        )
        text = written.getvalue()
        assert "\x1b[2J" not in text
        assert not {"\x07", "\u202e", "\x9b"} & set(text)
        assert "\\x1b[2J" in text
        assert len(text.splitlines()) == 1
