"""A statement as PDF: totals and the payable amount on the first page, lines by day behind it.

The same statement gives the same bytes: no clock, no random identifier, and the fonts that come with the library.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from math import ceil
from pathlib import Path
from typing import Any, Final

import reportlab
from msgspec import UNSET
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from gridloom.statements.document import wording
from gridloom.statements.model import CORRECTION
from gridloom.statements.views import AssetMonthView, IssuedLine, IssuedStatement

PAGE_WIDTH, PAGE_HEIGHT = A4
LEFT: Final = 42.0
RIGHT: Final = PAGE_WIDTH - LEFT
TOP: Final = PAGE_HEIGHT - 46
BOTTOM: Final = 62.0
TEXT, BOLD = "GridloomText", "GridloomBold"
INK, GREY, RULE = HexColor("#14201c"), HexColor("#5d6b66"), HexColor("#d7dedb")
GREEN, PALE = HexColor("#0f7557"), HexColor("#e5f2ed")
ROW: Final = 19.0
SMALL_ROW: Final = 14.0
LINES_TOP: Final = TOP - 35
LINES_A_PAGE: Final = int((LINES_TOP - BOTTOM) / SMALL_ROW) + 1
ASSET_COLUMNS: Final = (
    (LEFT, "Battery", "Speicher"),
    (LEFT + 122, "Rated power", "Nennleistung, MW"),
    (LEFT + 146, "Days", "Tage"),
    (LEFT + 220, "Cycles of limit", "Vollzyklen von"),
    (LEFT + 270, "Technical", "availability"),
    (LEFT + 326, "Availability", "delivered"),
    (LEFT + 374, "Measured", "share"),
    (LEFT + 440, "Earned", "Erlöse, EUR"),
    (RIGHT, "Earned per MW", "je MW, EUR"),
)
ENERGY_COLUMNS: Final = (
    (LEFT, "Battery", "Speicher"),
    (LEFT + 156, "Charged", "energy"),
    (LEFT + 206, "Discharged", "energy"),
    (LEFT + 256, "Dispatched", "charge"),
    (LEFT + 306, "Dispatched", "discharge"),
    (LEFT + 356, "Measured", "charge"),
    (LEFT + 406, "Measured", "discharge"),
    (LEFT + 456, "Reserve", "charge"),
    (RIGHT, "Reserve", "discharge"),
)
Columns = tuple[tuple[float, str, str], ...]
MAX_CORRECTIONS_AHEAD: Final = 8
"""So many corrections stand on the first page; all of them stand among the lines behind it."""


def render_pdf(statement: IssuedStatement) -> bytes:
    _register_fonts()
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=A4, invariant=1, pageCompression=1)
    canvas.setTitle(f"Statement {_number_of(statement)}")
    canvas.setAuthor("Gridloom")
    assets = [] if statement.figures is UNSET else statement.figures.assets
    figure_pages = ceil(len(assets) / LINES_A_PAGE)
    document = _Document(canvas, statement, 1 + 2 * figure_pages + ceil(len(statement.lines) / LINES_A_PAGE))
    document.draw_first_page()
    document.draw_assets(assets)
    document.draw_lines()
    canvas.save()
    return target.getvalue()


@cache
def _register_fonts() -> None:
    folder = Path(reportlab.__file__).parent / "fonts"
    pdfmetrics.registerFont(TTFont(TEXT, str(folder / "Vera.ttf")))
    pdfmetrics.registerFont(TTFont(BOLD, str(folder / "VeraBd.ttf")))


class _Document:
    def __init__(self, canvas: Canvas, statement: IssuedStatement, page_count: int) -> None:
        self.canvas: Any = canvas
        self.statement = statement
        self.page_count = page_count
        self.page = 1
        self.y = TOP

    # --- text ---

    def write(
        self, x: float, text: str, *, size: float = 8.5, font: str = TEXT, color: Any = INK, right: bool = False
    ) -> float:
        """On the present line; where the text ends."""
        shown = _make_drawable(text)
        self.canvas.setFont(font, size)
        self.canvas.setFillColor(color)
        if right:
            self.canvas.drawString(x - _measure_width(shown, font, size), self.y, shown)
            return x
        self.canvas.drawString(x, self.y, shown)
        return x + _measure_width(shown, font, size)

    def write_both(self, x: float, english: str, german: str, *, size: float = 8.5, font: str = TEXT) -> None:
        end = self.write(x, english, size=size, font=font)
        if german and german != english:
            self.write(end + 4, german, size=size, color=GREY)

    def rule(self, color: Any = RULE, width: float = 0.6) -> None:
        self.canvas.setStrokeColor(color)
        self.canvas.setLineWidth(width)
        self.canvas.line(LEFT, self.y, RIGHT, self.y)

    def end_page(self) -> None:
        statement = self.statement
        self.y = BOTTOM - 22
        self.rule()
        self.y -= 12
        behind = ""
        if self.page == 1 and self.page_count > 1:
            pages = "2" if self.page_count == 2 else f"2–{self.page_count}"
            behind = f" · details on {pages} / Einzelheiten auf Seite {pages}"
        name = _shorten_text(statement.organisation_name, 40)
        self.write(LEFT, f"{_number_of(statement)} · {name}{behind}", size=6.5, color=GREY)
        place = f"Page {self.page} of {self.page_count} / Seite {self.page} von {self.page_count}"
        self.write(RIGHT, place, size=6.5, color=GREY, right=True)
        self.canvas.showPage()

    # --- the first page ---

    def draw_first_page(self) -> None:
        self._draw_head()
        self._draw_parties()
        self._draw_title()
        self._draw_payable()
        self._draw_totals()
        self._draw_figures()
        self._draw_corrections()
        self.y = max(self.y - 16, BOTTOM)
        for text in wording.NO_INVOICE:
            self.write(LEFT, text, size=6.5, color=GREY)
            self.y -= 10
        self.end_page()

    def _draw_head(self) -> None:
        canvas = self.canvas
        canvas.setFillColor(GREEN)
        canvas.roundRect(LEFT, self.y - 12, 22, 22, 5, stroke=0, fill=1)
        canvas.setStrokeColor(PALE)
        canvas.setLineWidth(1.4)
        for step in (7.0, 11.0, 15.0):
            canvas.line(LEFT + 4, self.y - 12 + step, LEFT + 18, self.y - 12 + step)
        for step in (8.0, 14.0):
            canvas.line(LEFT + step, self.y - 8, LEFT + step, self.y + 6)
        self.y -= 6
        self.write(LEFT + 30, "Gridloom", size=13, font=BOLD)
        self.y += 10
        top = self.y
        issuer = [] if self.statement.issuer_name is UNSET else [self.statement.issuer_name]
        if self.statement.issuer_address is not UNSET:
            issuer += self.statement.issuer_address.splitlines()
        for text in issuer[:6]:
            self.write(RIGHT, _shorten_text(text, 60), size=7.5, color=GREY, right=True)
            self.y -= 11
        self.y = min(top - 42, self.y - 8)

    def _draw_parties(self) -> None:
        statement, top = self.statement, self.y
        self.write_both(LEFT, "To /", "Empfänger", size=7.5)
        self.y -= 15
        self.write(LEFT, _shorten_text(statement.organisation_name, 48), size=9.5, font=BOLD)
        address = [] if statement.address is UNSET else statement.address.splitlines()
        for text in address[:6]:
            self.y -= 13
            self.write(LEFT, _shorten_text(text, 52))
        lowest, self.y = self.y, top
        issued_at = "" if statement.issued_at is UNSET else wording.show_instant(statement.issued_at)
        as_of = "" if statement.as_of is UNSET else wording.show_instant(statement.as_of)
        is_issued = statement.status == "ISSUED"
        for label, value in (
            ("Number / Nummer", _number_of(statement)),
            ("Month / Abrechnungsmonat", f"{wording.name_month(statement.month)[0]}, Berlin"),
            ("Issued / Ausgestellt", issued_at),
            ("Facts as of / Datenstand", as_of),
            ("Status", "issued, never changes" if is_issued else "preliminary / vorläufig"),
        ):
            if value:
                self.write(LEFT + 300, label, size=7.5, color=GREY)
                self.write(RIGHT, value, size=7.5, right=True, font=BOLD if label.startswith("Number") else TEXT)
                self.y -= 15
        self.y = min(lowest, self.y) - 22

    def _draw_title(self) -> None:
        english, german = wording.name_month(self.statement.month)
        self.write(LEFT, f"Statement, {english}", size=16, font=BOLD)
        self.y -= 16
        self.write(LEFT, f"Abrechnung {german}", size=9.5, color=GREY)
        self.y -= 16

    def _draw_payable(self) -> None:
        canvas, statement = self.canvas, self.statement
        canvas.setFillColor(PALE)
        canvas.setStrokeColor(RULE)
        canvas.roundRect(LEFT, self.y - 42, RIGHT - LEFT, 46, 6, stroke=1, fill=1)
        name = _shorten_text(statement.organisation_name, 40)
        words = ("Paid to", "Auszahlungsbetrag") if statement.total >= 0 else ("Payable by", "Zahlbetrag")
        self.y -= 14
        self.write_both(LEFT + 12, f"{words[0]} {name} /", words[1], font=BOLD)
        self.y -= 13
        self.write(LEFT + 12, "net, in EUR / netto, in EUR", size=7, color=GREY)
        self.y += 4
        self.write(RIGHT - 12, f"€{wording.show_amount(abs(statement.total))}", size=16, font=BOLD, right=True)
        self.y -= 44

    def _draw_totals(self) -> None:
        self.write_both(LEFT, "Totals by line /", "Summen je Position", font=BOLD)
        self.y -= 14
        self.write(LEFT, "Line / Position", size=7, color=GREY)
        self.write(RIGHT - 110, "Lines / Posten", size=7, color=GREY, right=True)
        self.write(RIGHT, "EUR", size=7, color=GREY, right=True)
        self.y -= 6
        self.rule(INK, 0.9)
        for line, count, amount in _sum_lines(self.statement.lines):
            self.y -= 13
            self.write_both(LEFT, *wording.name_line(line))
            self.write(RIGHT - 110, str(count), color=GREY, right=True)
            self.write(RIGHT, wording.show_amount(amount), right=True)
            self.y -= ROW - 13
            self.rule()
        self.y -= 14
        self.write_both(LEFT, "Total", "Summe", font=BOLD)
        self.write(RIGHT, wording.show_amount(self.statement.total), size=10, font=BOLD, right=True)
        if self.statement.to_date is not UNSET:
            self.y -= 13
            self.write_both(LEFT, *wording.TO_DATE, size=7.5)
            self.write(RIGHT, wording.show_amount(self.statement.to_date), size=7.5, right=True)
        self.y -= 7
        self.rule(INK, 1.2)

    def _draw_figures(self) -> None:
        figures = self.statement.figures
        if figures is UNSET:
            return
        self.y -= 24
        self.write_both(LEFT, "Figures /", "Kennzahlen", font=BOLD)
        self.y -= 4
        for (english, german), value in (
            (wording.RATED_POWER, f"{figures.rated_power:,.1f} MW"),
            (wording.EARNED, wording.show_figure(figures.earned, "{:,.2f} EUR")),
            (wording.EARNED_PER_MW, wording.show_figure(figures.earned_per_mw, "{:,.2f} EUR/MW")),
            (wording.NET_PER_MW, wording.show_figure(figures.net_per_mw, "{:,.2f} EUR/MW")),
            (wording.AVAILABILITY, wording.show_share(figures.availability_delivered)),
            (wording.MEASURED, wording.show_share(figures.measured_share)),
            (wording.FORESIGHT, wording.show_figure(figures.foresight, "{:,.2f} EUR")),
            (wording.FORESIGHT_SHARE, wording.show_share(figures.foresight_share)),
        ):
            if value:
                self.y -= SMALL_ROW
                self.write_both(LEFT, english, german, size=7.5)
                self.write(RIGHT, value, size=7.5, right=True)

    def draw_assets(self, assets: Sequence[AssetMonthView]) -> None:
        """Months of batteries, then their energies apart, each figure under the name that it has in every format."""
        self._draw_table(("What the batteries did /", "Leistung der Speicher"), ASSET_COLUMNS, assets, _show_month)
        self._draw_table(("Energy in MWh /", "Energie in MWh"), ENERGY_COLUMNS, assets, _show_energies)

    def _draw_table(
        self,
        title: tuple[str, str],
        columns: Columns,
        assets: Sequence[AssetMonthView],
        show: Callable[[AssetMonthView], Sequence[str]],
    ) -> None:
        for first in range(0, len(assets), LINES_A_PAGE):
            self._start_table(title, columns)
            for asset in assets[first : first + LINES_A_PAGE]:
                self.write(LEFT, _shorten_text(asset.name, 20), size=7)
                for (x, _, _), value in zip(columns[1:], show(asset), strict=True):
                    self.write(x, value or "–", size=6.5, right=True)
                self.y -= SMALL_ROW
            self.end_page()

    def _start_table(self, title: tuple[str, str], columns: Columns) -> None:
        self.page += 1
        self.y = TOP
        self.write_both(LEFT, *title, size=10, font=BOLD)
        self.y -= 10
        for x, upper, lower in columns:
            self.write(x, upper, size=6.5, color=GREY, right=x != LEFT)
            self.y -= 8
            self.write(x, lower, size=6.5, color=GREY, right=x != LEFT)
            self.y += 8
        self.y -= 13
        self.rule(INK, 0.9)
        self.y = LINES_TOP

    def _draw_corrections(self) -> None:
        corrections = [line for line in self.statement.lines if line.line == CORRECTION]
        if not corrections or self.y < BOTTOM + 90:
            return
        self.y -= 24
        self.write_both(LEFT, "Corrections /", "Korrekturen früherer Abrechnungen", font=BOLD)
        self.y -= 14
        room = max(1, int((self.y - BOTTOM - 40) / SMALL_ROW))
        shown = corrections[: min(room, MAX_CORRECTIONS_AHEAD)]
        for line in shown:
            self._write_line(line)
        if len(shown) < len(corrections):
            rest = len(corrections) - len(shown)
            self.write(LEFT, f"… and {rest} more behind / und {rest} weitere umseitig", size=7, color=GREY)

    # --- lines by day ---

    def draw_lines(self) -> None:
        lines = self.statement.lines
        for first in range(0, len(lines), LINES_A_PAGE):
            self._start_lines_page()
            for line in lines[first : first + LINES_A_PAGE]:
                self._write_line(line)
            self.end_page()

    def _start_lines_page(self) -> None:
        self.page += 1
        self.y = TOP
        self.write_both(LEFT, "Lines by day /", "Einzelposten nach Tag", size=10, font=BOLD)
        self.y -= 18
        for x, label in (
            (LEFT, "Day / Tag"),
            (LEFT + 90, "Line / Position"),
            (LEFT + 285, "Counterparty / Gegenpartei"),
        ):
            self.write(x, label, size=7, color=GREY)
        self.write(RIGHT, "EUR", size=7, color=GREY, right=True)
        self.y -= 5
        self.rule(INK, 0.9)
        self.y = LINES_TOP

    def _write_line(self, line: IssuedLine) -> None:
        english, german = wording.name_line(line.line)
        if line.corrects is not UNSET:
            number = line.corrects.month if line.corrects.number is UNSET else line.corrects.number
            english, german = f"{wording.name_line(line.corrects.line)[0]}, corrects {number}", ""
        party = wording.name_party(
            line.counterparty, None if line.counterparty_name is UNSET else line.counterparty_name
        )
        self.write(LEFT, wording.show_day(line.day), size=7.2)
        self.write_both(LEFT + 90, english, _shorten_text(german, 22), size=7.2)
        self.write(LEFT + 285, _shorten_text(party, 40), size=7.2, color=GREY)
        self.write(RIGHT, wording.show_amount(line.amount), size=7.2, right=True)
        self.y -= SMALL_ROW


def _show_month(asset: AssetMonthView) -> Sequence[str]:
    limit = "" if asset.cycle_limit is UNSET else f" of {asset.cycle_limit:,.1f}"
    return (
        f"{asset.rated_power:,.1f}",
        str(asset.days),
        f"{asset.cycles:,.1f}{limit}",
        wording.show_share(asset.technical_availability),
        wording.show_share(asset.availability_delivered),
        wording.show_share(asset.measured_share),
        wording.show_figure(asset.earned, "{:,.2f}"),
        wording.show_figure(asset.earned_per_mw, "{:,.2f}"),
    )


def _show_energies(asset: AssetMonthView) -> Sequence[str]:
    energies = (
        asset.charged_energy,
        asset.discharged_energy,
        asset.dispatched_charge,
        asset.dispatched_discharge,
        asset.measured_charge,
        asset.measured_discharge,
        asset.reserve_charge,
        asset.reserve_discharge,
    )
    return [wording.show_figure(energy, "{:,.1f}") for energy in energies]


@lru_cache(maxsize=4096)
def _measure_width(text: str, font: str, size: float) -> float:
    return float(pdfmetrics.stringWidth(text, font, size))


def _sum_lines(lines: Sequence[IssuedLine]) -> list[tuple[str, int, Decimal]]:
    """By line in the order in which they first stand: how many, and how much."""
    sums: dict[str, tuple[int, Decimal]] = {}
    for line in lines:
        count, amount = sums.get(line.line, (0, Decimal(0)))
        sums[line.line] = count + 1, amount + line.amount
    order = {str(name): place for place, name in enumerate(wording.LINES)}
    return [(name, *sums[name]) for name in sorted(sums, key=lambda name: order.get(name, len(order)))]


def _number_of(statement: IssuedStatement) -> str:
    return f"{statement.month} (preliminary)" if statement.number is UNSET else statement.number


def _shorten_text(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


@lru_cache(maxsize=4096)
def _make_drawable(text: str) -> str:
    """The characters of the font; other letters without their marks, else a question mark."""
    known: dict[int, int] = pdfmetrics.getFont(TEXT).face.charToGlyph
    if all(ord(letter) in known for letter in text):
        return text
    shown = []
    for letter in text:
        plain = letter if ord(letter) in known else unicodedata.normalize("NFKD", letter)[0]
        shown.append(plain if ord(plain) in known else "?")
    return "".join(shown)
