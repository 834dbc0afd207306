"""A statement as a document: the same bytes each time, in both languages, whatever an organisation is called."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec import UNSET
from reportlab.pdfgen.canvas import Canvas
from tests.statements.conftest import FEBRUARY, JANUARY, Books

from gridloom.platform.http import CSV
from gridloom.revenue.statement.model import LineType
from gridloom.statements.document import pdf
from gridloom.statements.document.pdf import render_pdf
from gridloom.statements.document.tables import render_table
from gridloom.statements.model import CORRECTION
from gridloom.statements.views import (
    AssetMonthView,
    CorrectedLine,
    IssuedLine,
    IssuedStatement,
    StatementFigures,
)

OWNER = UUID(int=5)


def make_statement(count: int = 3, **changes: Any) -> IssuedStatement:
    first = date(2026, 9, 1)
    lines = [
        IssuedLine(
            time=datetime(2026, 8, 31, 22, tzinfo=UTC),
            day=first + timedelta(days=place % 30),
            line=[*LineType][place % len(LineType)],
            amount=Decimal("-1234.56") if place % 3 == 0 else Decimal("100.00"),
            counterparty=str(OWNER) if place % 2 else "MARKET",
            counterparty_name="Elbe Speicher GmbH" if place % 2 else UNSET,
        )
        for place in range(count)
    ]
    lines.append(
        IssuedLine(
            time=datetime(2026, 8, 11, 22, tzinfo=UTC),
            day=date(2026, 8, 12),
            line=CORRECTION,
            amount=Decimal("5.00"),
            counterparty="MARKET",
            corrects=CorrectedLine(month="2026-08", line="TRADING", number="2026-0008"),
        )
    )
    fields = {
        "id": UUID(int=1),
        "organisation_id": UUID(int=2),
        "organisation_name": "Nordlicht Trading GmbH",
        "month": "2026-09",
        "status": "ISSUED",
        "start": datetime(2026, 8, 31, 22, tzinfo=UTC),
        "end": datetime(2026, 9, 30, 22, tzinfo=UTC),
        "lines": lines,
        "total": sum((line.amount for line in lines), Decimal(0)),
        "corrects": [],
        "number": "2026-0009",
        "issued_at": datetime(2026, 10, 9, 12, 2, tzinfo=UTC),
        "as_of": datetime(2026, 10, 9, 12, 0, tzinfo=UTC),
        "address": "Fleetinsel 7\n20459 Hamburg",
    }
    return IssuedStatement(**{**fields, **changes})


def make_figures(count: int) -> StatementFigures:
    """Of batteries of which every other has no limit of cycles and no measurement."""
    assets = [
        AssetMonthView(
            asset_id=UUID(int=100 + place),
            kind="PHYSICAL",
            name=f"Battery {place}",
            delivery_zone="TenneT",
            rated_power=10.0 + place,
            days=30,
            charged_energy=1234.56,
            discharged_energy=1111.1,
            cycles=41.5,
            cycle_limit=UNSET if place % 2 else 45.0,
            availability_delivered=0.987,
            dispatched_charge=UNSET if place % 2 else 1300.25,
            dispatched_discharge=UNSET if place % 2 else 1200.25,
            measured_charge=UNSET if place % 2 else 617.25,
            measured_discharge=UNSET if place % 2 else 555.25,
            reserve_charge=UNSET if place % 2 else 12.25,
            reserve_discharge=UNSET if place % 2 else 34.25,
            technical_availability=UNSET if place % 2 else 0.672,
            measured_share=UNSET if place % 2 else 0.5,
            earned=-1000.0,
            earned_per_mw=-98.765,
        )
        for place in range(count)
    ]
    return StatementFigures(assets=assets, rated_power=23.45, earned_per_mw=-43.219, measured_share=0.75)


def make_corrections(count: int) -> list[IssuedLine]:
    line = make_statement(0).lines[0]
    return [msgspec.structs.replace(line, amount=Decimal(10 + place)) for place in range(count)]


@dataclass(frozen=True)
class Place:
    """Where a text is drawn."""

    page: int
    text: str
    left: float
    right: float
    y: float
    size: float

    def touches(self, other: Place) -> bool:
        is_on_line = abs(self.y - other.y) < 0.7 * min(self.size, other.size)
        return self.page == other.page and is_on_line and self.left < other.right and other.left < self.right

    def is_struck_by(self, rule: tuple[int, float]) -> bool:
        page, y = rule
        return self.page == page and self.y - 0.15 * self.size < y < self.y + 0.7 * self.size


@dataclass
class Drawn:
    """The texts, and the page and height of each line that goes from margin to margin."""

    places: list[Place] = field(default_factory=list)
    rules: list[tuple[int, float]] = field(default_factory=list)

    def find_tables(self, first: str) -> list[dict[str, str]]:
        """Rows that begin with this text: each value by the two lines above its column, as JSON would write them."""
        found = []
        for row in (one for one in self.places if one.text == first):
            page = [one for one in self.places if one.page == row.page]
            heads = sorted((one for one in page if row.y < one.y < pdf.TOP), key=lambda one: -one.y)
            edges = {one.right if one.left > pdf.LEFT else one.left: one.text for one in page if one.y == row.y}
            found.append({_join_words(heads, edge): text for edge, text in edges.items()})
        return found


def _join_words(heads: list[Place], edge: float) -> str:
    """German ones and units are left out."""
    words = " ".join(one.text for one in heads if abs((one.right if one.left > pdf.LEFT else one.left) - edge) < 1e-6)
    english = re.split(r" (?=Speicher|Nennleistung|Tage|Vollzyklen|Erlöse|je MW)", words)[0].title().replace(" ", "")
    return english[0].lower() + english[1:]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """What the library that makes PDFs is told to draw."""
    found = Drawn()

    class NotingCanvas(Canvas):  # type: ignore[misc]
        font: tuple[str, float]

        def setFont(self, name: str, size: float, leading: float | None = None) -> None:
            self.font = name, size
            super().setFont(name, size, leading)

        def drawString(self, x: float, y: float, text: str, **how: Any) -> None:
            if text:
                right = x + self.stringWidth(text, *self.font)
                found.places.append(Place(self.getPageNumber(), text, x, right, y, self.font[1]))
            super().drawString(x, y, text, **how)

        def line(self, x1: float, y1: float, x2: float, y2: float) -> None:
            if (x1, x2) == (pdf.LEFT, pdf.RIGHT):
                found.rules.append((self.getPageNumber(), y1))
            super().line(x1, y1, x2, y2)

    monkeypatch.setattr(pdf, "Canvas", NotingCanvas)
    return found


class TestThePDF:
    def test_is_the_same_bytes_each_time(self) -> None:
        assert render_pdf(make_statement()) == render_pdf(make_statement())
        assert render_pdf(make_statement()) != render_pdf(make_statement(number="2026-0010"))

    @pytest.mark.parametrize(
        ("lines", "corrections", "address_lines"),
        [(0, 0, 0), (3, 2, 1), (len(LineType), 30, 8), (len(LineType), 0, 8)],
        ids=["hardly anything", "some", "all there can be", "all but corrections"],
    )
    def test_writes_no_text_over_another_or_off_the_page(
        self,
        drawn: Drawn,
        lines: int,
        corrections: int,
        address_lines: int,
    ) -> None:
        address = "\n".join(f"Line {place} of an address" for place in range(address_lines))
        changes: dict[str, Any] = {
            "address": address,
            "issuer_name": "Gridloom Betriebs GmbH",
            "issuer_address": address,
            "figures": make_figures(3),
            "lines": make_statement(lines).lines[:-1] + make_corrections(corrections),
        }
        render_pdf(make_statement(**changes))
        assert drawn.places
        assert drawn.rules
        for place, one in enumerate(drawn.places):
            assert pdf.LEFT <= one.left < one.right <= pdf.RIGHT + 1e-6, one
            assert 0 < one.y <= pdf.TOP + 4, one
            for other in drawn.places[:place]:
                assert not one.touches(other), (one, other)
            assert not any(one.is_struck_by(rule) for rule in drawn.rules), one

    def test_shows_the_figures_of_a_battery_under_the_names_that_json_and_csv_have(self, drawn: Drawn) -> None:
        statement = make_statement(0, figures=make_figures(1))
        render_pdf(statement)
        tables = drawn.find_tables("Battery 0")
        shown = {name: value for table in tables for name, value in table.items()}
        [asset] = list(msgspec.to_builtins(statement.figures)["assets"])
        assert shown == {
            "battery": "Battery 0",
            "ratedPower": f"{asset['ratedPower']:,.1f}",
            "days": "30",
            "cyclesOfLimit": "41.5 of 45.0",
            "earned": "\u22121,000.00",
            "earnedPerMw": "\u221298.77",
            **{
                name: f"{100 * asset[name]:.1f} %"
                for name in ("technicalAvailability", "availabilityDelivered", "measuredShare")
            },
            **{name: f"{asset[name]:,.1f}" for name in asset if name.endswith(("Energy", "Charge", "Discharge"))},
        }
        assert sum(name.endswith(("Charge", "Discharge")) for name in shown) == 6

    @pytest.mark.parametrize("name", ["Łódź Sp. z o.o.", "東京電力", "=1+1", "a" * 200, "", "\u202eevil", "🔋"])
    def test_takes_any_name(self, name: str) -> None:
        lines = [
            IssuedLine(
                time=datetime(2026, 9, 1, tzinfo=UTC),
                day=date(2026, 9, 1),
                line="TRADING",
                amount=Decimal(1),
                counterparty=str(OWNER),
                counterparty_name=name,
            )
        ]
        changed = make_statement(organisation_name=name, address=f"{name}\n" * 20, lines=lines)
        assert render_pdf(changed).startswith(b"%PDF-")


class TestTheCSV:
    def test_has_a_row_for_each_line(self) -> None:
        statement = make_statement(5)
        rows = list(csv.DictReader(io.StringIO(render_table(statement, CSV).decode())))
        assert [Decimal(row["amount"]) for row in rows] == [line.amount for line in statement.lines]
        assert rows[-1]["correctedNumber"] == "2026-0008"
        assert rows[0]["number"] == "2026-0009"

    def test_has_a_row_without_an_amount_for_each_figure_that_there_is(self) -> None:
        statement = make_statement(0, figures=make_figures(2))
        rows = list(csv.DictReader(io.StringIO(render_table(statement, CSV).decode())))[len(statement.lines) :]
        assert {(row["amount"], row["line"], row["number"]) for row in rows} == {("", "", "2026-0009")}
        shown = [(row["assetName"], row["figure"], row["value"], row["unit"]) for row in rows]
        assert shown[:3] == [
            ("", "ratedPower", "23.45", "MW"),
            ("", "earnedPerMW", "-43.219", "EUR/MW"),
            ("", "measuredShare", "0.75", ""),
        ]
        assert [figure for name, figure, _, _ in shown if name == "Battery 1"] == [
            "ratedPower",
            "days",
            "chargedEnergy",
            "dischargedEnergy",
            "cycles",
            "availabilityDelivered",
            "earned",
            "earnedPerMW",
        ]
        assert ("Battery 0", "cycleLimit", "45.0", "") in shown
        assert {row["asset"] for row in rows if row["assetName"] == "Battery 0"} == {str(UUID(int=100))}

    def test_gives_no_formula_to_a_spreadsheet(self) -> None:
        statement = make_statement(0)
        line = IssuedLine(
            time=statement.start,
            day=date(2026, 9, 1),
            line="TRADING",
            amount=Decimal(1),
            counterparty=str(OWNER),
            counterparty_name="=cmd()",
        )
        rows = list(csv.DictReader(io.StringIO(render_table(make_statement(lines=[line]), CSV).decode())))
        assert rows[0]["counterpartyName"] == "'=cmd()"
        for start in "+-@":
            figures = make_figures(1)
            figures.assets[0].name = f"{start}cmd()"
            rows = list(
                csv.DictReader(io.StringIO(render_table(make_statement(lines=[], figures=figures), CSV).decode()))
            )
            assert {row["assetName"] for row in rows} == {"", f"'{start}cmd()"}


class TestOverHTTP:
    async def test_is_negotiated_and_shows_the_address(self, books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
        trader = books.traders[0]
        answer = await trader.admin.change(f"/organisations/{trader.id}", json={"address": "Kai 1\n20457 Hamburg"})
        assert (answer.status_code, answer.json()["address"]) == (200, "Kai 1\n20457 Hamburg")
        await books.trade(books.held, date(2028, 1, 10), 80.0)
        await books.issue(JANUARY)
        issued = await books.statement(trader, JANUARY)
        assert issued["address"] == "Kai 1\n20457 Hamburg"
        running = (await books.statement(trader, FEBRUARY))["id"]
        table = await trader.viewer.get(
            f"/organisations/{trader.id}/statements/{running}", headers={"Accept": "text/csv"}
        )
        assert table.headers["Content-Disposition"] == 'attachment; filename="statement-2028-02.csv"', (
            "it has no number"
        )
        path = f"/organisations/{trader.id}/statements/{issued['id']}"
        document = await trader.viewer.get(path, headers={"Accept": "application/pdf"})
        assert document.headers["Content-Type"] == "application/pdf"
        assert document.headers["Content-Disposition"] == 'attachment; filename="statement-2028-0001.pdf"'
        assert document.content.startswith(b"%PDF-")
        assert document.content == (await trader.viewer.get(path, headers={"Accept": "application/pdf"})).content
        rows = (await trader.viewer.get(path, headers={"Accept": "text/csv"})).text
        assert rows.splitlines()[0].startswith("statement,number,day,line,amount")
        assert (await trader.viewer.get(path, headers={"Accept": "image/png"})).status_code == 406
        await trader.admin.change(f"/organisations/{trader.id}", json={"address": "Elsewhere"})
        assert (await books.statement(trader, JANUARY))["address"] == "Kai 1\n20457 Hamburg"
