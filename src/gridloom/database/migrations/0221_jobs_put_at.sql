-- The lock of who puts a job is named by when it was put, for the revisions of a job that was cancelled begin anew; and whoever
-- takes the job shares it until the run ends, so that nothing outlives a transaction that is broken off.
drop function job_put_lock(text, text, bigint);
create function job_put_lock(kind text, key text, put_at timestamptz) returns bigint language sql stable parallel safe
  return hashtextextended(kind || chr(31) || key || chr(31) || extract(epoch from put_at), 6128);

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
