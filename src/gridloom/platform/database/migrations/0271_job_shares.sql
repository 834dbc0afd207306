-- Jobs that an organisation has asked for: counted by organisation over all replicas, and claimed by turns. Jobs of the
-- platform have no organisation and places of their own.
alter table job
  add column organisation_id uuid,
  add column size int not null default 0;       -- shorter work of an organisation runs first

create index job_by_organisation on job (organisation_id, size, due) where organisation_id is not null;

-- When each organisation had its last turn; committed when a run begins.
create table job_turn (
  organisation_id uuid primary key,
  claimed_at timestamptz not null
);

-- A run of an organisation's job holds one of these locks until its transaction ends: so many run on all replicas together.
create function job_place_lock(organisation_id uuid, place int) returns bigint language sql immutable parallel safe
  return hashtextextended(organisation_id::text || chr(31) || place, 6129);

-- What counts an organisation's waiting jobs before it adds one holds this lock until its transaction ends.
create function job_count_lock(organisation_id uuid) returns bigint language sql immutable parallel safe
  return hashtextextended(organisation_id::text, 6130);

update job set organisation_id = (payload ->> 'organisationID')::uuid
where kind in ('backtest.run', 'optimisation.solve');

-- As before, for the jobs of the platform alone.
create or replace function claim_job(kinds text[]) returns setof job language plpgsql volatile as $$
declare
  asked_clock text;
  candidate record;
  claimed job;
begin
  foreach asked_clock in array array['platform', 'real'] loop
    for candidate in
      select j.kind, j.key from job j
      where j.state = 'WAITING' and j.clock = asked_clock and j.kind = any(kinds) and j.organisation_id is null
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

-- The next job of an organisation: of those with fewest running jobs the one whose last turn is longest ago, and its
-- shortest job. An organisation with no free place, or with nothing that can be claimed, is passed over; what was locked on
-- the way is unlocked by undoing the block.
create function claim_organisation_job(kinds text[], max_running int) returns setof job language plpgsql volatile as $$
declare
  organisation record;
  candidate record;
  claimed job;
  is_admitted boolean;
begin
  for organisation in
    select j.organisation_id as id from job j left join job_turn turn using (organisation_id)
    where j.organisation_id is not null and j.state = 'WAITING' and j.kind = any(kinds) and j.due <= job_now(j.clock)
      and (j.not_before is null or j.not_before <= clock_timestamp())
    group by j.organisation_id, turn.claimed_at
    order by count(j.begun_at), turn.claimed_at nulls first, j.organisation_id
  loop
    begin
      is_admitted := false;
      for place in 1..max_running loop
        is_admitted := pg_try_advisory_xact_lock(job_place_lock(organisation.id, place));
        exit when is_admitted;
      end loop;
      if is_admitted then
        for candidate in
          select j.kind, j.key from job j
          where j.organisation_id = organisation.id and j.state = 'WAITING' and j.kind = any(kinds)
            and j.due <= job_now(j.clock) and (j.not_before is null or j.not_before <= clock_timestamp())
          order by j.size, j.due, j.kind, j.key
        loop
          continue when not pg_try_advisory_xact_lock(job_lock(candidate.kind, candidate.key));
          select j.* into claimed from job j
          where j.kind = candidate.kind and j.key = candidate.key and j.state = 'WAITING'
            and j.due <= job_now(j.clock) and (j.not_before is null or j.not_before <= clock_timestamp());
          continue when not found;
          continue when not pg_try_advisory_xact_lock_shared(
            job_put_lock(claimed.kind, claimed.key, claimed.enqueued_at));
          return next claimed;
          return;
        end loop;
      end if;
      raise exception 'nothing to claim' using errcode = 'GL001';
    exception when sqlstate 'GL001' then null;
    end;
  end loop;
end $$;
