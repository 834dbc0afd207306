"""Statements with named parameters."""

import asyncpg
import pytest

from gridloom.database.statement import NamedStatement


class TestAStatement:
    def test_numbers_its_parameters_in_the_order_in_which_they_are_first_named(self):
        statement = NamedStatement("select :b::int, (:a::float8[])[low : low + 31], :b")
        assert statement.text == "select $1::int, ($2::float8[])[low : low + 31], $1"
        assert statement.arguments({"a": [1.0], "b": 2}) == [2, [1.0]]

    @pytest.mark.parametrize("values", [{"a": 1}, {"a": 1, "b": 2, "c": 3}])
    def test_is_passed_exactly_what_it_names(self, values):
        with pytest.raises(TypeError, match=r"disagree about [bc]\."):
            NamedStatement("select :a, :b").arguments(values)

    async def test_gives_its_row(self, database_url):
        connection = await asyncpg.connect(database_url)
        try:
            statement = NamedStatement("select :first::int as first, :second::text as second")
            row = await statement.fetchrow(connection, second="two", first=1)
        finally:
            await connection.close()
        assert dict(row) == {"first": 1, "second": "two"}
