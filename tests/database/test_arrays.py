"""Long arrays of numbers on their way to PostgreSQL."""

import asyncpg
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.database.arrays import array_text

NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=50)


class TestAnArrayAsText:
    @settings(max_examples=200)
    @given(st.lists(NUMBERS, min_size=1, max_size=3))
    def test_says_each_number_exactly(self, pieces):
        text = array_text([np.array(piece, dtype=np.float64) for piece in pieces])
        said = [float(number) for number in text[1:-1].split(",") if number]
        assert said == [number for piece in pieces for number in piece]

    async def test_is_read_by_the_database_as_it_was(self, database_url):
        numbers = np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 729.0])
        connection = await asyncpg.connect(database_url)
        try:
            read = await connection.fetchval("select $1::text::float8[]", array_text([numbers, numbers]))
            assert await connection.fetchval("select $1::text::float8[]", array_text([])) == []
        finally:
            await connection.close()
        assert read == [*numbers.tolist(), *numbers.tolist()]
