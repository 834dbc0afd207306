"""Work that happens later: declared by kind, kept in PostgreSQL, run once by whichever replica is free."""

from gridloom.platform.jobs.declare import Clock, JobKind, JobRun, job, jobs_of, register_jobs
from gridloom.platform.jobs.fast_forward import run_due_platform_jobs
from gridloom.platform.jobs.queue import admit_job, cancel, enqueue
from gridloom.platform.jobs.runner import JobRunner
