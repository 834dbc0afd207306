"""Statements with named parameters."""

from dataclasses import dataclass

import asyncpg
import pytest

from gridloom.platform.database.rows import read_row, values_of
from gridloom.platform.database.statement import NamedStatement


@dataclass(frozen=True, slots=True)
class Pair:
    first: int
    second: str


class TestAStatement:
    @pytest.mark.parametrize("values", [{"a": 1}, {"a": 1, "b": 2, "c": 3}])
    def test_is_passed_exactly_what_it_names(self, values):
        with pytest.raises(TypeError, match=r"disagree about [bc]\."):
            NamedStatement("select :a, :b").arguments(values)

    async def test_is_carried_out_for_each_value(self, database_url):
        connection = await asyncpg.connect(database_url)
        try:
            await connection.execute("create temporary table pair (first int, second text)")
            statement = NamedStatement("insert into pair (first, second) values (:first, :second)")
            await statement.execute_each(connection, [values_of(Pair(1, "one")), values_of(Pair(2, "two"))])
            rows = await connection.fetch("select first, second from pair order by first")
        finally:
            await connection.close()
        assert [read_row(Pair, row) for row in rows] == [Pair(1, "one"), Pair(2, "two")]
