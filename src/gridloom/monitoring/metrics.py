"""Metrics of telemetry."""

from prometheus_client import Counter, Gauge, Histogram

POINTS = Counter("gridloom_telemetry_points_total", "Points received, by what became of them", ["outcome"])
BODY_BYTES = Counter("gridloom_telemetry_body_bytes_total", "Bytes of bodies with points", ["media_type"])
LAG = Histogram(
    "gridloom_telemetry_lag_seconds",
    "How far an asset's newest point lay behind the platform's clock when it was stored",
    buckets=(1, 2, 5, 15, 60, 300, 900, 3600, 21_600, 86_400),
)
FOLDED_POINTS = Counter("gridloom_telemetry_folded_points_total", "Points moved from segments into blocks, or joined")
FOLDED_BYTES = Counter("gridloom_telemetry_folded_bytes_total", "Bytes that folded points take")
FOLD_SECONDS = Histogram(
    "gridloom_telemetry_fold_seconds", "Time to fold one asset and day", buckets=(0.005, 0.02, 0.1, 0.5, 2, 10, 60)
)
DROPPED_CHUNKS = Counter("gridloom_telemetry_dropped_chunks_total", "Blocks deleted because they had expired")
BACKLOG_SEGMENTS = Gauge(
    "gridloom_telemetry_backlog_segments", "Segments not yet folded, when last looked", multiprocess_mode="mostrecent"
)
BACKLOG_POINTS = Gauge(
    "gridloom_telemetry_backlog_points", "Points not yet folded, when last looked", multiprocess_mode="mostrecent"
)
STREAMS = Gauge("gridloom_telemetry_streams", "Open telemetry streams", multiprocess_mode="livesum")
