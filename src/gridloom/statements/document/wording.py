"""The words of a statement's document, in English and German."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import UnsetType

from gridloom.revenue.statement.model import LineType, Party
from gridloom.statements.model import CORRECTION

_MARKET_ZONE: Final = ZoneInfo("Europe/Berlin")

LINES: Final = {
    LineType.TRADING: ("Wholesale trading", "Großhandel"),
    LineType.FCR: ("FCR", "Primärregelleistung"),
    LineType.AFRR_CAPACITY: ("aFRR capacity", "Sekundärregelleistung, Vorhaltung"),
    LineType.AFRR_ENERGY: ("aFRR energy", "Sekundärregelarbeit"),
    LineType.TOLLING: ("Tolling", "Nutzungsentgelt"),
    LineType.AUCTION: ("Auction price", "Auktionspreis"),
    LineType.IMBALANCE: ("Imbalance", "Ausgleichsenergie, reBAP"),
    LineType.END_OF_LIFE: ("Energy at the end of life", "Energie am Laufzeitende"),
    LineType.AVAILABILITY: ("Availability", "Erstattung für Nichtverfügbarkeit"),
    LineType.SUBSTITUTION: ("Substitution", "Ersatz bei Ausfall"),
    LineType.DRIFT: ("Drift of the pool", "Fahrplanausgleich des Pools"),
    LineType.RESERVE_SHORTFALL: ("Reserve not held", "Nicht vorgehaltene Regelleistung"),
    CORRECTION: ("Corrections to earlier statements", "Korrekturen"),
}
PARTIES: Final = {
    Party.MARKET: "Market / Markt",
    Party.GRID_OPERATOR: "Grid operator / Netzbetreiber",
    Party.OUTSIDE: "Outside party / Dritter",
}
NO_INVOICE: Final = (
    "A statement of accounts, not a tax invoice; no VAT is shown.",
    "Eine Abrechnungsübersicht, keine Rechnung im Sinne des Umsatzsteuergesetzes; ohne Umsatzsteuerausweis.",
)
RATED_POWER: Final = ("Rated power, time-weighted", "Nennleistung, zeitgewichtet")
EARNED: Final = ("Earned by its batteries", "Erlöse der Speicher")
EARNED_PER_MW: Final = ("Earned per MW", "Erlöse je MW")
NET_PER_MW: Final = ("Lines of the month per MW, net", "Posten des Monats je MW, netto")
TO_DATE: Final = ("Of it until now", "Davon bis jetzt")
AVAILABILITY: Final = ("Delivered of what batteries were asked for", "Von den Speichern geliefert, wie angefordert")
MEASURED: Final = ("Measured of that energy", "Davon gemessen")
FORESIGHT: Final = ("Best day-ahead schedules, in hindsight", "Beste Day-Ahead-Fahrpläne im Nachhinein")
FORESIGHT_SHARE: Final = ("Earned in per cent of these", "Davon erlöst")

_MONTHS: Final = (
    ("January", "Januar"),
    ("February", "Februar"),
    ("March", "März"),
    ("April", "April"),
    ("May", "Mai"),
    ("June", "Juni"),
    ("July", "Juli"),
    ("August", "August"),
    ("September", "September"),
    ("October", "Oktober"),
    ("November", "November"),
    ("December", "Dezember"),
)
_SHORT_MONTHS: Final = tuple(english[:3] for english, _ in _MONTHS)
_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def name_line(line: str) -> tuple[str, str]:
    """English and German; a line without a wording of its own by its name."""
    words: dict[str, tuple[str, str]] = {str(key): value for key, value in LINES.items()}
    return words.get(line, (line.replace("_", " ").capitalize(), ""))


def name_party(party: str, name: str | None) -> str:
    words: dict[str, str] = {str(key): value for key, value in PARTIES.items()}
    return name or words.get(party, party)


def name_month(month: str) -> tuple[str, str]:
    """`2026-09` as `September 2026`, in both languages."""
    year, number = month.split("-")
    english, german = _MONTHS[int(number) - 1]
    return f"{english} {year}", f"{german} {year}"


def show_day(day: date) -> str:
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_SHORT_MONTHS[day.month - 1]} {day.year}"


def show_instant(instant: datetime) -> str:
    """In market time."""
    local = instant.astimezone(_MARKET_ZONE)
    return f"{show_day(local.date())} {local:%H:%M}"


def show_share(share: float | UnsetType) -> str:
    """A percentage; empty where there is none."""
    return show_figure(share if isinstance(share, UnsetType) else 100 * share, "{:.1f} %")


def show_figure(value: float | UnsetType, form: str) -> str:
    """With a true minus sign; empty where there is none."""
    return "" if isinstance(value, UnsetType) else form.format(value).replace("-", "\u2212")


def show_amount(amount: Decimal) -> str:
    """Two decimals, with a true minus sign."""
    return f"{amount:,.2f}".replace("-", "\u2212")
