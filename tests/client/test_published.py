"""Files that markets publish: right across clock changes, units and signs."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook
from tests.published_prices import REAL

from gridloom_client.published.balancing import read_afrr_capacity, read_afrr_energy, read_fcr
from gridloom_client.published.day_ahead import read_day_ahead
from gridloom_client.published.imbalance import read_rebap
from gridloom_client.published.prices import PublishedFileError, PublishedPrice

pytestmark = pytest.mark.pure

FCR_COLUMNS = [
    "DATE_FROM",
    "DATE_TO",
    "TENDER_NUMBER",
    "PRODUCTNAME",
    "GERMANY_DEMAND_[MW]",
    "GERMANY_SETTLEMENTCAPACITY_PRICE_[EUR/MW]",
    "GERMANY_DEFICIT(-)_SURPLUS(+)_[MW]",
]
FCR_ROWS: list[list[Any]] = [
    [date(2026, 3, 29), date(2026, 3, 29), 1, "NEGPOS_00_04", 570, 66.86, 0],
    [date(2026, 3, 29), date(2026, 3, 29), 1, "NEGPOS_04_08", 570, 22.1, 0],
    [date(2026, 3, 29), date(2026, 3, 29), 2, "NEGPOS_08_12", 570, 99.0, 0],
    [date(2026, 3, 29), date(2026, 3, 29), 1, "NEGPOS_08_12", 570, "-", "-"],
    [date(2025, 10, 26), date(2025, 10, 26), 1, "NEGPOS_00_04", 570, 50, 0],
]


def write_xlsx(path: Path, columns: list[str], rows: list[list[Any]]) -> Path:
    workbook = Workbook()
    sheet = workbook.active
    assert sheet is not None
    for line in ([*columns], *rows):
        sheet.append(line)
    workbook.save(path)
    return path


def write_csv(path: Path, columns: list[str], rows: list[list[Any]], separator: str = ",") -> Path:
    lines = [separator.join(columns), *(separator.join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return path


class TestFCR:
    @pytest.mark.parametrize("form", ["xlsx", "csv", "german"])
    def test_prices_per_block_become_prices_per_hour(self, tmp_path: Path, form: str) -> None:
        if form == "xlsx":
            path = write_xlsx(tmp_path / "fcr.xlsx", FCR_COLUMNS, FCR_ROWS)
        elif form == "csv":
            path = write_csv(tmp_path / "fcr.csv", FCR_COLUMNS, FCR_ROWS)
        else:
            rows = [[f"{row[0]:%d.%m.%Y}", *row[1:5], str(row[5]).replace(".", ","), row[6]] for row in FCR_ROWS]
            path = write_csv(tmp_path / "fcr.csv", FCR_COLUMNS, rows, ";")
        spring, after, autumn = read_fcr(path)
        assert spring.series == "FCR_DE"
        assert (spring.start, spring.end) == (
            datetime(2026, 3, 28, 23, tzinfo=UTC),
            datetime(2026, 3, 29, 2, tzinfo=UTC),
        )
        assert spring.price == Decimal("22.286667")
        assert after.price == Decimal("5.525")
        assert autumn.end - autumn.start == timedelta(hours=5)
        assert autumn.price == Decimal(10)

    def test_prices_of_the_years_with_one_tender_name_none(self, tmp_path: Path) -> None:
        columns, rows = [[*line[:2], *line[3:]] for line in (FCR_COLUMNS, FCR_ROWS[0])]
        [found] = read_fcr(write_csv(tmp_path / "fcr.csv", columns, [rows]))
        assert found.price == Decimal("22.286667")

    def test_refuses_another_file(self, tmp_path: Path) -> None:
        with pytest.raises(PublishedFileError, match="no column"):
            list(read_fcr(write_csv(tmp_path / "x.csv", ["A", "B"], [[1, 2]])))
        broken = tmp_path / "x.xlsx"
        broken.write_bytes(b"not a spreadsheet")
        with pytest.raises(PublishedFileError, match="not a spreadsheet"):
            list(read_fcr(broken))
        rows: list[list[Any]] = [["2026-03-29", "", 1, "POS_00_04", 1, 2, 0]]
        with pytest.raises(PublishedFileError, match="row 2: PRODUCTNAME is 'POS_00_04'"):
            list(read_fcr(write_csv(tmp_path / "y.csv", FCR_COLUMNS, rows)))
        rows = [["2026-03-29", "", 1, "NEGPOS_00_04", 1, "many", 0]]
        with pytest.raises(PublishedFileError, match="not a number"):
            list(read_fcr(write_csv(tmp_path / "z.csv", FCR_COLUMNS, rows)))


class TestAFRRCapacity:
    def test_prices_are_taken_per_hour_or_made_so(self, tmp_path: Path) -> None:
        for unit, expected in (("(EUR/MW)/h", "6.5"), ("EUR/MW", "1.625")):
            columns = ["DATE_FROM", "DATE_TO", "TYPE_OF_RESERVES", "PRODUCT"]
            columns += [f"GERMANY_{kind}_CAPACITY_PRICE_[{unit}]" for kind in ("MIN", "AVERAGE", "MARGINAL")]
            rows: list[list[Any]] = [
                ["2026-01-10", "2026-01-10", "aFRR", "POS_08_12", 1, 6.5, 12],
                ["2026-01-10", "2026-01-10", "mFRR", "POS_08_12", 1, 99, 99],
                ["2026-01-10", "2026-01-10", "aFRR", "NEG_08_12", 1, "-", 4],
            ]
            found = list(read_afrr_capacity(write_csv(tmp_path / "afrr.csv", columns, rows)))
            assert [price.series for price in found] == [
                "AFRR_CAPACITY_POS_DE_AVERAGE",
                "AFRR_CAPACITY_POS_DE_MARGINAL",
                "AFRR_CAPACITY_NEG_DE_MARGINAL",
            ]
            assert found[0].price == Decimal(expected)
            hours = (datetime(2026, 1, 10, 7, tzinfo=UTC), datetime(2026, 1, 10, 11, tzinfo=UTC))
            assert {(price.start, price.end) for price in found} == {hours}


class TestAFRREnergy:
    COLUMNS = (
        "DELIVERY_DATE",
        "PRODUCT",
        "ENERGY_PRICE_[EUR/MWh]",
        "ENERGY_PRICE_PAYMENT_DIRECTION",
        "OFFERED_CAPACITY_[MW]",
        "ALLOCATED_CAPACITY_[MW]",
        "COUNTRY",
    )

    def test_prices_are_positive_when_the_provider_is_paid(self, tmp_path: Path) -> None:
        rows: list[list[Any]] = [
            ["2026-03-29", "NEG_009", 30, "PROVIDER_TO_GRID", 5, 5, "DE"],
            ["2026-03-29", "NEG_009", 10, "GRID_TO_PROVIDER", 15, 15, "DE"],
            ["2026-03-29", "NEG_009", 99, "GRID_TO_PROVIDER", 5, 0, "DE"],
            ["2026-03-29", "NEG_009", 99, "GRID_TO_PROVIDER", 5, 5, "AT"],
            ["2026-03-29", "POS_092", 120, "GRID_TO_PROVIDER", 1, 1, "DE"],
            ["2026-03-29", "POS_091", -7, "PROVIDER_TO_GRID", 1, 1, "DE"],
            ["2026-03-29", "NEG_091", -7, "GRID_TO_PROVIDER", 1, 1, "DE"],
        ]
        path = write_xlsx(tmp_path / "energy.xlsx", list(self.COLUMNS), rows)
        found = {(price.series, price.start): price.price for price in read_afrr_energy(path)}
        ninth = datetime(2026, 3, 29, 1, tzinfo=UTC)  # 03:00 on the wall clock, for 02:00 is skipped
        assert found[("AFRR_ENERGY_NEG_DE_AVERAGE", ninth)] == Decimal(0)
        assert found[("AFRR_ENERGY_NEG_DE_MARGINAL", ninth)] == Decimal(10)
        last = datetime(2026, 3, 29, 21, 45, tzinfo=UTC)
        assert found[("AFRR_ENERGY_POS_DE_AVERAGE", last)] == Decimal(120)
        signed = last - timedelta(minutes=15)  # whatever sign the figure has, the direction says who pays
        assert found[("AFRR_ENERGY_POS_DE_AVERAGE", signed)] == Decimal(-7)
        assert found[("AFRR_ENERGY_NEG_DE_AVERAGE", signed)] == Decimal(7)

    def test_prices_are_those_of_each_day_alone(self, tmp_path: Path) -> None:
        """A file of several days, with the older name of the column, its rows in no order."""
        columns = ["DATE_FROM", *self.COLUMNS[1:]]
        rows: list[list[Any]] = [
            [day, "POS_001", price, "GRID_TO_PROVIDER", 9, allocated, country]
            for day, price, allocated, country in (
                *(("2026-01-11", 300, 1, "DE"), ("2026-01-10", 20, 3, "GERMANY"), ("2026-01-10", 60, 1, "DE")),
                *(("2026-01-11", 100, 1, "DE"), ("2026-01-10", "-", 1, "DE"), ("2026-01-10", 90, "-", "DE")),
            )
        ]
        found = [
            (price.series.removeprefix("AFRR_ENERGY_POS_DE_"), price.start.day, price.price)
            for price in read_afrr_energy(write_csv(tmp_path / "energy.csv", columns, rows))
        ]
        assert found == [
            *(("AVERAGE", 9, Decimal(30)), ("MARGINAL", 9, Decimal(60))),
            *(("AVERAGE", 10, Decimal(200)), ("MARGINAL", 10, Decimal(300))),
        ]

    def test_negative_products_are_turned_round_without_a_direction(self, tmp_path: Path) -> None:
        columns = [name for name in self.COLUMNS if "DIRECTION" not in name]
        path = write_csv(tmp_path / "energy.csv", columns, [["2026-01-10", "NEG_001", 25.5, 1, 1, "DE"]])
        average, _ = read_afrr_energy(path)
        assert average.price == Decimal("-25.5")

    @pytest.mark.parametrize(
        ("day", "product"),
        [("2026-03-29", "POS_093"), ("2026-03-28", "POS_097"), ("2026-10-25", "NEG_101"), ("2026-03-28", "NEG_000")],
    )
    def test_products_that_the_day_does_not_have_are_refused(self, tmp_path: Path, day: str, product: str) -> None:
        row = [day, product, 30, "GRID_TO_PROVIDER", 5, 5, "DE"]
        with pytest.raises(PublishedFileError, match=product):
            list(read_afrr_energy(write_csv(tmp_path / "energy.csv", list(self.COLUMNS), [row])))

    @pytest.mark.parametrize("text", ["1_0", "1e3", "５", "NaN", "ten"])
    def test_prices_are_numbers_as_people_write_them(self, tmp_path: Path, text: str) -> None:
        row = ["2026-01-10", "POS_001", text, "GRID_TO_PROVIDER", 5, 5, "DE"]
        with pytest.raises(PublishedFileError, match="not a number"):
            list(read_afrr_energy(write_csv(tmp_path / "energy.csv", list(self.COLUMNS), [row])))


class TestDayAhead:
    def check_day(self, prices: list[PublishedPrice], count: int, minutes: int) -> None:
        assert len(prices) == count
        assert {price.end - price.start for price in prices} == {timedelta(minutes=minutes)}
        assert all(before.end == after.start for before, after in pairwise(prices))

    @pytest.mark.skipif(not REAL.exists(), reason="the published prices do not lie beside the project")
    def test_the_first_day_of_quarter_hours_has_its_known_mean(self) -> None:
        prices = [price.price for price in read_day_ahead(REAL / "da_DE-LU_2025-10-01.json")]
        assert round(sum(prices) / 96, 2) == Decimal("116.57")
        assert (max(prices), min(prices)) == (Decimal("408.50"), Decimal("61.37"))

    def test_files_of_smard_are_read_too(self, tmp_path: Path) -> None:
        path = tmp_path / "smard.json"
        path.write_text(json.dumps({"meta_data": {}, "series": [[1743202800000, 1.5], [1743206400000, None]]}))
        (price,) = read_day_ahead(path)
        assert (price.price, price.end - price.start) == (Decimal("1.5"), timedelta(hours=1))

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ([["noon", 1]], "row 2: 'noon' is not a time"),
            ([["2025-09-30T20:00", 1]], "no offset"),
            ([["2025-09-30T20:00Z", 1], ["2025-09-30T20:00Z", 2]], "twice"),
            ([["2025-09-30T20:00Z", "x"]], "not a number"),
            ([["2025-09-30T20:00Z", 1]], "stands alone"),
        ],
    )
    def test_refuses_rows_that_are_not_prices(self, tmp_path: Path, rows: list[list[Any]], said: str) -> None:
        with pytest.raises(PublishedFileError, match=said):
            list(read_day_ahead(write_csv(tmp_path / "prices.csv", ["start", "price"], rows)))

    @pytest.mark.skipif(not REAL.exists(), reason="the published prices do not lie beside the project")
    def test_six_years_of_real_prices_have_no_gap(self) -> None:
        prices = list(read_day_ahead(REAL / "day_ahead_DE-LU_2020-2025.csv"))
        assert len(prices) == 59_235
        assert all(before.end == after.start for before, after in pairwise(prices))

    @pytest.mark.parametrize("first_hour", ["2025-09-30T22:00Z", "2026-03-28T23:00Z"])
    def test_hourly_means_do_not_stand_in_for_quarter_hours(self, tmp_path: Path, first_hour: str) -> None:
        path = tmp_path / "smard.json"
        start = round(datetime.fromisoformat(first_hour).timestamp() * 1000)
        # The second hour has no price, so that the first one alone is at fault.
        path.write_text(json.dumps({"series": [[start, 1.5], [start + 3_600_000, None]]}))
        with pytest.raises(PublishedFileError, match="hourly mean"):
            list(read_day_ahead(path))

    @pytest.mark.parametrize(
        "content",
        [
            "no",
            "[]",
            "{}",
            '{"series": 7}',
            '{"series": [[1]]}',
            '{"unix_seconds": [1], "price": []}',
            '{"unix_seconds": [0, 900], "price": ["a", 1]}',
            '{"unix_seconds": [0], "price": [1]}',
            '{"unix_seconds": [0, 0], "price": [1, null]}',
            '{"unix_seconds": [0, 900], "price": [1, 2], "unit": "ct/kWh"}',
        ],
    )
    def test_refuses_other_json(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "x.json"
        path.write_text(content)
        with pytest.raises(PublishedFileError):
            list(read_day_ahead(path))


REBAP = """Datum;Zeitzone;von;bis;Datenkategorie;Datentyp;Einheit;reBAP unterdeckt;reBAP ueberdeckt
26.10.2025;CEST;02:45;03:00;NRV;Qualitaetsgesichert;EUR/MWh;1.075,15;1.075,15
26.10.2025;CET;02:00;02:15;NRV;Qualitaetsgesichert;EUR/MWh;-75,15;-75,15
26.10.2025;CET;23:45;00:00;NRV;Qualitaetsgesichert;EUR/MWh;12,5;12,5
27.10.2025;UTC;00:00;00:15;NRV;Qualitaetsgesichert;EUR/MWh;N.A.;N.A.
"""


class TestImbalancePrices:
    def test_tell_the_hour_that_comes_twice_apart(self, tmp_path: Path) -> None:
        path = tmp_path / "rebap.csv"
        path.write_text(REBAP, encoding="utf-8")
        summer, winter, last = read_rebap(path)
        assert (summer.start, summer.price) == (datetime(2025, 10, 26, 0, 45, tzinfo=UTC), Decimal("1075.15"))
        assert (winter.start, winter.price) == (datetime(2025, 10, 26, 1, tzinfo=UTC), Decimal("-75.15"))
        assert (last.start, last.end) == (
            datetime(2025, 10, 26, 22, 45, tzinfo=UTC),
            datetime(2025, 10, 26, 23, tzinfo=UTC),
        )
        assert {price.series for price in (summer, winter, last)} == {"REBAP_DE"}

    @pytest.mark.parametrize(
        ("old", "new"), [("CEST", "PST"), ("02:45", "2 o'clock"), ("03:00", "04:00"), (";1.075,15;", ";1.075,16;")]
    )
    def test_refuse_what_is_not_a_price_of_a_quarter_hour(self, tmp_path: Path, old: str, new: str) -> None:
        path = tmp_path / "rebap.csv"
        path.write_text(REBAP.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(PublishedFileError, match="row 2"):
            list(read_rebap(path))
