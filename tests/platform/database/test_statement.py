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
    def test_numbers_its_parameters_in_the_order_in_which_they_are_first_named(self):
        statement = NamedStatement("select :b::int, (:a::float8[])[low : low + 31], :b")
        assert statement.text == "select $1::int, ($2::float8[])[low : low + 31], $1"
        assert statement.arguments({"a": [1.0], "b": 2}) == [2, [1.0]]

    def test_has_its_parts_filled_in_before_its_parameters_are_numbered(self):
        statement = NamedStatement("select {columns} from pair where second = :second", columns="first, :zero::int")
        assert statement.text == "select first, $1::int from pair where second = $2"
        assert statement.names == ("zero", "second")
        assert NamedStatement("select '{}', :a").text == "select '{}', $1", "without parts braces are text"

    @pytest.mark.parametrize("values", [{"a": 1}, {"a": 1, "b": 2, "c": 3}])
    def test_is_passed_exactly_what_it_names(self, values):
        with pytest.raises(TypeError, match=r"disagree about [bc]\."):
            NamedStatement("select :a, :b").arguments(values)

    def test_takes_from_its_source_what_it_is_not_passed(self):
        assert NamedStatement("select :first, :second, :third").arguments({"third": 3}, Pair(1, "two")) == [1, "two", 3]

    async def test_gives_its_row(self, database_url):
        connection = await asyncpg.connect(database_url)
        try:
            statement = NamedStatement("select :first::int as first, :second::text as second")
            row = await statement.fetchrow(connection, second="two", first=1)
        finally:
            await connection.close()
        assert dict(row) == {"first": 1, "second": "two"}

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
