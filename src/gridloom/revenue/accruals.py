"""Amounts that accrue with time rather than by period: tolls over the year, auction prices over the delivery window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import groupby
from math import floor

import numpy as np

from gridloom.market_calendar import HOUR_S, day_number, day_start, market_date, market_day_number
from gridloom.revenue.formulas import FloatArray, quotient
from gridloom.revenue.model import AuctionResult, RatedPowerSteps, ReportBuckets, SecondsSpan, Toll

TOLLING_MEASURES = ("tolling_revenue_eur", "tolling_price_weighted", "tolling_mw_h")
AUCTION_MEASURES = ("vba_revenue_eur", "hurdle_price_weighted", "hurdle_mw_h")


def tolling_sums(
    tolls: Iterable[Toll], ratings: Mapping[int, RatedPowerSteps], weights: Mapping[int, float], buckets: ReportBuckets
) -> dict[str, FloatArray]:
    """EUR/MW/year × rated MW × hours ÷ hours in that calendar year, in market time and within the asset's life.

    The price is what an asset's tolls cost together, as a mean over the time in which it has one, whatever its power
    did meanwhile; power weighs the assets.
    """
    sums = {name: np.zeros(len(buckets)) for name in TOLLING_MEASURES}
    for asset_key, own in groupby(sorted(tolls, key=lambda toll: toll.asset_key), key=lambda toll: toll.asset_key):
        rating, weight = ratings[asset_key], weights[asset_key]
        price_s, time_s, asset_mw_h = (np.zeros(len(buckets)) for _ in range(3))
        spans = []
        for toll in own:
            span = rating.in_service_fraction(toll.span)
            spans.append(span)
            for part, year_h in _calendar_years(span, buckets):
                starts, ends = _clip_buckets(part, buckets)
                power_mw_h = weight * (rating.integral_mw_h(ends) - rating.integral_mw_h(starts))
                sums["tolling_revenue_eur"] += toll.annual_price_eur_mw * power_mw_h / year_h
                price_s += toll.annual_price_eur_mw * (ends - starts)
        for span in _joined_spans(spans):
            starts, ends = _clip_buckets(span, buckets)
            time_s += ends - starts
            asset_mw_h += weight * (rating.integral_mw_h(ends) - rating.integral_mw_h(starts))
        sums["tolling_price_weighted"] += np.nan_to_num(quotient(price_s, time_s)) * asset_mw_h
        sums["tolling_mw_h"] += asset_mw_h
    return sums


def auction_sums(
    results: Iterable[AuctionResult],
    ratings: Mapping[int, RatedPowerSteps],
    weights: Mapping[int, float],
    buckets: ReportBuckets,
) -> dict[str, FloatArray]:
    """The price evenly over the delivery window; the hurdle price as a level, weighted by rated power."""
    sums = {name: np.zeros(len(buckets)) for name in AUCTION_MEASURES}
    for result in results:
        starts, ends = _clip_buckets(result.span, buckets)
        weight = weights[result.asset_key]
        duration_s = result.span.end_s - result.span.start_s
        sums["vba_revenue_eur"] += weight * result.price_eur * ((ends - starts) / duration_s)
        if result.hurdle_price_eur is None:
            continue
        rating = ratings[result.asset_key]
        power_mw_h = weight * (rating.integral_mw_h(ends) - rating.integral_mw_h(starts))
        sums["hurdle_price_weighted"] += result.hurdle_price_eur * power_mw_h
        sums["hurdle_mw_h"] += power_mw_h
    return sums


def _joined_spans(spans: Iterable[SecondsSpan]) -> Iterator[SecondsSpan]:
    """The time that lies in any of them, each instant once."""
    start_s = end_s = float("-inf")
    for span in sorted(spans, key=lambda span: span.start_s):
        if span.start_s > end_s:
            if start_s < end_s:
                yield SecondsSpan(start_s, end_s)
            start_s = span.start_s
        end_s = max(end_s, span.end_s)
    if start_s < end_s:
        yield SecondsSpan(start_s, end_s)


def _clip_buckets(span: SecondsSpan, buckets: ReportBuckets) -> tuple[FloatArray, FloatArray]:
    """The part of each bucket that lies within the span; empty ones start where they end."""
    return np.clip(buckets.starts_s, span.start_s, span.end_s), np.clip(buckets.ends_s, span.start_s, span.end_s)


def _calendar_years(span: SecondsSpan, buckets: ReportBuckets) -> Iterator[tuple[SecondsSpan, float]]:
    """The parts of a span by calendar year in market time, and the hours of that year: 8760 or 8784.

    Only the years that the buckets reach: contracts without an end are recorded until 2099.
    """
    start_s, end_s = max(span.start_s, buckets.starts_s.min()), min(span.end_s, buckets.ends_s.max())
    while start_s < end_s:
        year = market_date(day_number(floor(start_s))).year
        next_year_s = _new_year_s(year + 1)
        yield SecondsSpan(start_s, min(end_s, next_year_s)), (next_year_s - _new_year_s(year)) / HOUR_S
        start_s = next_year_s


def _new_year_s(year: int) -> float:
    return float(day_start(market_day_number(date(year, 1, 1))))
