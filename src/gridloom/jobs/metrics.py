"""Metrics of the job runner."""

from prometheus_client import Counter, Histogram

RUNS = Counter("gridloom_job_runs_total", "Attempts to run a job, by what came of them", ["kind", "outcome"])
DURATION = Histogram("gridloom_job_duration_seconds", "How long an attempt took", ["kind"])
LAG = Histogram(
    "gridloom_job_lag_seconds",
    "How long after its due time a job began",
    ["kind"],
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 3600),
)
