"""Issued statements with all corrections, the preliminary ones included, add up to what the facts say now."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.people import OrganisationUnderTest
from tests.statements.conftest import APRIL, FEBRUARY, JANUARY, MARCH, SINCE, Books

Amounts = dict[tuple[str, str, str], Decimal]


async def sum_statements(books: Books, organisation: OrganisationUnderTest) -> Amounts:
    """By day, line and counterparty; a correction counts for the line and day that it corrects."""
    sums: dict[Any, Decimal] = defaultdict(Decimal)
    for one in await books.list(organisation):
        whole = (await books.read(organisation, one["id"])).json()
        listed = sum(Decimal(str(line["amount"])) for line in whole["lines"])
        assert Decimal(str(whole["total"])) == listed == Decimal(str(one["total"]))
        for line in whole["lines"]:
            name = line["corrects"]["line"] if line["line"] == "CORRECTION" else line["line"]
            sums[line["day"], name, line["counterparty"]] += Decimal(str(line["amount"]))
    return {key: amount for key, amount in sums.items() if amount}


async def sum_facts(
    books: Books,
    organisation: OrganisationUnderTest,
    start: str = "2027-12-31T23:00:00Z",
    end: str = "2028-04-30T22:00:00Z",
) -> Amounts:
    """What the organisation's report says, of January to April where no other window is asked for."""
    window = {"start": start, "end": end}
    answer = await organisation.viewer.get(
        f"/revenue-reporting/organisations/{organisation.id}/statement", params=window
    )
    assert answer.status_code == 200, answer.text
    return {
        (_local_day(line["time"]), line["line"], line["counterparty"]): Decimal(str(line["amount"]))
        for line in answer.json()["lines"]
    }


async def check_sum_to_date(books: Books, organisation: OrganisationUnderTest) -> None:
    """Of April the facts until now, in the middle of a day, and all corrections."""
    statement = await books.statement(organisation, APRIL)
    until_now = await sum_facts(books, organisation, "2028-03-31T22:00:00Z", SINCE.isoformat())
    corrected = sum(Decimal(str(one["amount"])) for one in statement["corrects"])
    assert Decimal(str(statement["toDate"])) == sum(until_now.values()) + corrected


def _local_day(time: str) -> str:
    """A market day starts at 22:00 or 23:00 of the day before in UTC."""
    return (date.fromisoformat(time[:10]) + timedelta(days=1)).isoformat()


async def change_something(books: Books, chance: random.Random) -> None:
    day = date(2028, 1, 1) + timedelta(days=chance.randrange(110))
    asset = chance.choice([books.held, books.other, books.battery, books.second])
    kind = chance.randrange(4)
    if kind == 0:
        await books.publish(day, chance.randrange(-200, 500) / 10)
    elif kind == 1:
        await books.toll(asset, day, day + timedelta(days=chance.randrange(1, 60)), chance.randrange(1, 99_999))
    else:
        volume = str(chance.randrange(1, 40) / 8)
        await books.trade(asset, day, chance.randrange(-500, 2000) / 100, volume, f"t{chance.randrange(3)}")


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_issued_and_corrected_is_what_the_facts_say(books: Books, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        await change_something(books, chance)
    for month in (JANUARY, FEBRUARY, MARCH):
        assert (await books.issue(month))["status"] == "DONE"
        for _ in range(chance.randrange(1, 6)):
            await change_something(books, chance)
        parties: dict[Any, Decimal] = defaultdict(Decimal)
        for one in books.everyone:
            said = await sum_statements(books, one)
            assert said == await sum_facts(books, one), (month, one.name)
            for (day, line, counterparty), amount in said.items():
                if len(counterparty) == 36:
                    parties[day, line] += amount
        assert {key: amount for key, amount in parties.items() if amount} == {}
    for one in books.everyone:
        await check_sum_to_date(books, one)
    assert [one["month"] for one in await books.list(books.owner)] == [APRIL, MARCH, FEBRUARY, JANUARY]
