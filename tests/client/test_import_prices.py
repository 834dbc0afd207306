"""`gridloom import prices`: rows as people keep them, from files and from a pipe."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from tests.client.test_published import write_xlsx

from gridloom_client.published.price_rows import read_price_rows
from gridloom_client.published.prices import PublishedFileError
from gridloom_client.published.tables import FileContent

pytestmark = pytest.mark.pure

QUARTER = timedelta(minutes=15)
START = datetime(2026, 10, 31, 23, tzinfo=UTC)


class TestPriceRows:
    @pytest.mark.parametrize(
        "text",
        [
            "series,start,end,price\nIDA1_DE_LU,2026-11-01T00:00+01:00,2026-11-01T00:15+01:00,1234.56\n",
            "\ufeffseries;start;end;price\nIDA1_DE_LU;01.11.2026 00:00;01.11.2026 00:15;1.234,56\n",
            "series\tstart\tprice\nIDA1_DE_LU\t2026-11-01 00:00\t1234,56\n",
            "start;price;note\n01.11.2026 00:00:00;1234,56;first\n01.11.2026 00:15;-;none yet\n",
        ],
    )
    def test_are_read_with_any_separator_decimal_and_clock(self, text: str) -> None:
        [found] = read_price_rows(
            FileContent("standard input", text.encode()), series="IDA1_DE_LU", zone="Europe/Berlin", step=QUARTER
        )
        assert (found.series, found.start, found.end) == ("IDA1_DE_LU", START, START + QUARTER)
        assert found.price == Decimal("1234.56")

    def test_are_read_from_a_spreadsheet(self, tmp_path: Path) -> None:
        rows = [
            ["IDA1_DE_LU", datetime.fromisoformat("2026-11-01 00:00"), datetime.fromisoformat("2026-11-01 00:15"), 7.5]
        ]
        path = write_xlsx(tmp_path / "ida.xlsx", ["series", "start", "end", "price"], rows)
        for file in (path, FileContent("standard input", path.read_bytes())):
            [found] = read_price_rows(file, zone="Europe/Berlin")
            assert (found.start, found.end, found.price) == (START, START + QUARTER, Decimal("7.5"))

    def test_of_the_hour_that_the_clock_shows_twice_come_in_their_order(self) -> None:
        lines = "".join(f"25.10.2026 02:{minute:02};{minute}\n" for _ in range(2) for minute in (0, 15, 30, 45))
        file = FileContent("x", f"start;price\n{lines}".encode())
        found = list(read_price_rows(file, series="REBAP_DE", zone="Europe/Berlin", step=QUARTER))
        assert [one.start for one in found] == [datetime(2026, 10, 25, tzinfo=UTC) + n * QUARTER for n in range(8)]

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("start,end,price\n2026-11-01T00:00Z,2026-11-01T00:15Z,1\n", "--series"),
            ("series,start,end,price\nX,2026-11-01 00:00,2026-11-01 00:15,1\n", "--zone"),
            ("series,start,price\nX,2026-11-01T00:00Z,1\n", "--minutes"),
            ("series,start,end,price\nX,soon,later,1\n", "'soon' is not a time"),
            ("series,start,end,price\nX,2026-11-01T00:00Z,2026-11-01T00:15Z,much\n", "not a number"),
            ("day,price\n2026-11-01,1\n", "no column start"),
        ],
    )
    def test_that_leave_something_open_are_refused_with_what_to_say(self, text: str, told: str) -> None:
        with pytest.raises(PublishedFileError, match=told):
            list(read_price_rows(FileContent("x", text.encode())))
