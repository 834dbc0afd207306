"""Long arrays of numbers on their way to PostgreSQL and back."""

import asyncpg
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.platform.database.statement import decode_float8_arrays, format_float8_array, format_int_array

NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=50)


class TestAnArrayAsText:
    @settings(max_examples=200)
    @given(NUMBERS)
    def test_says_each_number_exactly(self, numbers):
        text = format_float8_array(np.array(numbers, dtype=np.float64))
        assert [float(number) for number in text[1:-1].split(",") if number] == numbers

    async def test_is_read_by_the_database_as_it_was(self, database_url):
        numbers = np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 729.0])
        connection = await asyncpg.connect(database_url)
        try:
            read = await connection.fetchval("select $1::text::float8[]", format_float8_array(numbers))
            assert await connection.fetchval("select $1::text::float8[]", format_float8_array(np.zeros(0))) == []
            assert await connection.fetchval("select $1::text::int[]", format_int_array([3, -1, 2**31 - 1])) == [
                3,
                -1,
                2**31 - 1,
            ]
            assert await connection.fetchval("select $1::text::int[]", format_int_array([])) == []
        finally:
            await connection.close()
        assert read == numbers.tolist()


class TestRowsOfNumbers:
    async def test_come_as_the_database_has_them(self, database_url):
        dice = np.random.default_rng(7)
        rows = [[0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3], *dice.normal(0, 1e3, (30, 5)).tolist()]
        connection = await asyncpg.connect(database_url)
        try:
            packed = await connection.fetchval(
                """select string_agg(array_send(numbers), ''::bytea order by place)
                   from unnest($1::text[]) with ordinality row(said, place), cast(said as float8[]) numbers""",
                [format_float8_array(np.array(row)) for row in rows],
            )
        finally:
            await connection.close()
        assert decode_float8_arrays(packed, 5).tolist() == rows
