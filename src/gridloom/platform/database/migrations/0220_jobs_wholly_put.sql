-- Who puts a job holds this lock until its transaction is over on every machine. On a distributed database it shows on the
-- coordinator, where the queue is, a moment before it shows on the workers; a run that began in that moment would find
-- nothing to do, and the job would be gone. The lock is named by when the job was put, so that who puts it again keeps nobody
-- from running it as it stands (revisions would not do: those of a job that was cancelled begin anew).
create function job_put_lock(kind text, key text, put_at timestamptz) returns bigint language sql stable parallel safe
  return hashtextextended(kind || chr(31) || key || chr(31) || extract(epoch from put_at), 6128);

-- As before, save that a job is left to the next look while the transaction that has put it is not wholly over. Whoever takes
-- it shares the lock until the run ends, so that nothing outlives a transaction that is broken off.
create or replace function claim_job(kinds text[]) returns setof job language plpgsql volatile as $$
declare
  asked_clock text;
  candidate record;
  claimed job;
begin
  foreach asked_clock in array array['platform', 'real'] loop
    for candidate in
      select j.kind, j.key from job j
      where j.state = 'WAITING' and j.clock = asked_clock and j.kind = any(kinds)
        and j.due <= (select job_now(asked_clock)) and (j.not_before is null or j.not_before <= clock_timestamp())
      order by j.due, j.kind, j.key
    loop
      continue when not pg_try_advisory_xact_lock(job_lock(candidate.kind, candidate.key));
      select j.* into claimed from job j
      where j.kind = candidate.kind and j.key = candidate.key and j.state = 'WAITING' and j.clock = asked_clock
        and j.due <= job_now(asked_clock) and (j.not_before is null or j.not_before <= clock_timestamp());
      continue when not found;
      continue when not pg_try_advisory_xact_lock_shared(job_put_lock(claimed.kind, claimed.key, claimed.enqueued_at));
      return next claimed;
      return;
    end loop;
  end loop;
end $$;
