"""Which sources this deployment can ask, and which of them its settings switch on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gridloom.feeds.http_client import FeedClient
from gridloom.feeds.model import FeedName
from gridloom.feeds.sources import Source
from gridloom.feeds.sources.energy_charts import EnergyCharts
from gridloom.feeds.sources.entsoe import Entsoe
from gridloom.feeds.sources.netztransparenz import Netztransparenz
from gridloom.feeds.sources.regelleistung import Regelleistung
from gridloom.feeds.sources.smard import Smard
from gridloom.settings import Settings


@dataclass(slots=True)
class FeedConfiguration:
    """`missing` names, for each source that cannot be asked, the setting that it lacks."""

    sources: Mapping[FeedName, Source] = field(default_factory=dict)
    missing: Mapping[FeedName, str] = field(default_factory=dict)
    switched_on: frozenset[FeedName] = frozenset()
    replaced: frozenset[FeedName] = frozenset()
    """Sources whose address is replaced: no public service is asked there."""
    client: FeedClient | None = None


class Feeds:
    """The configuration of this process: jobs run without a request that could carry it."""

    current: FeedConfiguration = FeedConfiguration()


def configure(settings: Settings) -> FeedConfiguration:
    sources: dict[FeedName, Source] = {
        FeedName.SMARD: Smard(settings.feed_smard_url),
        FeedName.ENERGY_CHARTS: EnergyCharts(settings.feed_energy_charts_url),
        FeedName.REGELLEISTUNG: Regelleistung(settings.feed_regelleistung_url),
    }
    missing = {}
    if settings.entsoe_token is None:
        missing[FeedName.ENTSOE] = "GRIDLOOM_ENTSOE_TOKEN"
    else:
        sources[FeedName.ENTSOE] = Entsoe(settings.entsoe_token, settings.feed_entsoe_url)
    if settings.netztransparenz_client_id is None:
        missing[FeedName.NETZTRANSPARENZ] = "GRIDLOOM_NETZTRANSPARENZ_CLIENT_ID"
    elif settings.netztransparenz_client_secret is None:
        missing[FeedName.NETZTRANSPARENZ] = "GRIDLOOM_NETZTRANSPARENZ_CLIENT_SECRET"
    else:
        sources[FeedName.NETZTRANSPARENZ] = Netztransparenz(
            settings.netztransparenz_client_id,
            settings.netztransparenz_client_secret,
            settings.feed_netztransparenz_url,
            settings.feed_netztransparenz_token_url,
        )
    replaced = {
        FeedName.SMARD: settings.feed_smard_url,
        FeedName.ENERGY_CHARTS: settings.feed_energy_charts_url,
        FeedName.ENTSOE: settings.feed_entsoe_url,
        FeedName.REGELLEISTUNG: settings.feed_regelleistung_url,
        FeedName.NETZTRANSPARENZ: settings.feed_netztransparenz_url,
    }
    return FeedConfiguration(
        sources=sources,
        missing=missing,
        switched_on=frozenset(FeedName(name) for name in settings.feeds),
        replaced=frozenset(name for name, url in replaced.items() if url is not None),
    )
