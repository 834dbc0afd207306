"""The codec gives back every bit it was given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gridloom.monitoring import codec

pytestmark = pytest.mark.pure

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
DECIMALS = st.integers(-(10**7), 10**7).flatmap(
    lambda number: st.sampled_from([number / 1, number / 10, number / 1000])
)
TIMES = arrays.arrays(np.int64, st.integers(1, 400), elements=st.integers(0, 4_102_444_800_000_000))


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


def round_trip(times: np.ndarray, values: np.ndarray) -> None:
    body = codec.encode(times, values)
    decoded_times, decoded_values = codec.decode(body)
    assert same_bits(decoded_times, times)
    assert same_bits(codec.decode_times(body), times)
    assert same_bits(decoded_values, values)
    assert same_bits(codec.decode_times(codec.encode_times(times)), times)
    assert same_bits(codec.list_times(codec.decode_grid(codec.encode_times(times))), times)
    assert same_bits(codec.PackedValues(codec.encode_values(values), 0, len(values)).decode(), values)


class TestARoundTrip:
    @given(arrays.arrays(np.float64, st.integers(1, 300), elements=FINITE))
    def test_keeps_any_finite_double(self, values: np.ndarray) -> None:
        round_trip(np.arange(len(values), dtype=np.int64), values)

    @given(st.lists(DECIMALS, min_size=1, max_size=300))
    def test_keeps_decimals(self, numbers: list[float]) -> None:
        round_trip(np.arange(len(numbers), dtype=np.int64), np.array(numbers))

    @pytest.mark.parametrize("lowest", [-70_000, -3, 0, 5_000, 2**40])
    def test_keeps_a_noise_around_any_level(self, lowest: int) -> None:
        noise = np.random.default_rng(5).integers(0, 200, 400)
        round_trip(np.arange(400, dtype=np.int64), (lowest + noise) / 10)

    @given(TIMES)
    def test_keeps_times_in_any_order(self, times: np.ndarray) -> None:
        round_trip(times, np.zeros(len(times)))

    @given(st.lists(st.one_of(DECIMALS, FINITE, st.just(-0.0)), min_size=1, max_size=300))
    def test_keeps_decimals_with_a_stranger_among_them(self, numbers: list[float]) -> None:
        round_trip(np.arange(len(numbers), dtype=np.int64), np.array(numbers))


class TestAPartOfABody:
    @given(st.lists(st.one_of(DECIMALS, FINITE), min_size=1, max_size=300), st.data())
    def test_decodes_as_the_whole_does(self, numbers: list[float], data: st.DataObject) -> None:
        values = np.array(numbers)
        first = data.draw(st.integers(0, len(values) - 1))
        end = data.draw(st.integers(first + 1, len(values)))
        assert same_bits(codec.PackedValues(codec.encode_values(values), first, end).decode(), values[first:end])


class TestSumsOfRows:
    @given(st.lists(st.integers(-(10**6), 10**6), min_size=12, max_size=300), st.sampled_from([1, 2, 5]), st.data())
    def test_are_exact(self, numbers: list[int], size: int, data: st.DataObject) -> None:
        first = data.draw(st.integers(0, len(numbers) - size))
        count = data.draw(st.integers(1, (len(numbers) - first) // size))
        packed = codec.encode_values(np.array(numbers) / 100)
        found = codec.PackedValues(packed, first, first + size * count).sum_rows(size)
        assert found is not None
        expected = np.array(numbers[first : first + size * count]).reshape(-1, size).sum(axis=1)
        assert ((found[0] / found[1]) == expected / 100).all()

    @pytest.mark.parametrize(
        "values",
        [
            np.random.default_rng(7).normal(size=60),
            np.arange(60) * 1e9,
            np.array([*range(300), -0.0, np.pi, *range(300)]) / 10,
        ],
    )
    def test_take_decoding_where_values_are_no_short_decimals(self, values: np.ndarray) -> None:
        packed = codec.PackedValues(codec.encode_values(values), 0, len(values))
        assert packed.sum_rows(15) is None
        assert same_bits(packed.decode(), values)
