-- What is still to be done: one row per (kind, key), gone when it is done.

create table job (
  kind        text not null,
  key         text not null,
  clock       text not null,
  due         timestamptz(3) not null,                -- on the job's own clock
  not_before  timestamptz(3),                         -- real time: how long a failed job rests before its next attempt
  payload     jsonb not null default '{}',
  every       interval,                               -- a recurring job comes back instead of going
  state       text not null default 'WAITING',
  attempts    integer not null default 0,             -- failed ones since the last success
  deaths      integer not null default 0,             -- those of them that took their process, or its connection, along
  begun_at    timestamptz(3),                         -- committed before a run's work; its end in any order takes it away
  revision    bigint not null default 1,              -- rises with each enqueue, so that a run ends only what it began
  last_error  text,
  failed_at   timestamptz(3),
  enqueued_at timestamptz(3) not null default clock_timestamp(),
  constraint job_pkey primary key (kind, key),
  constraint job_clock_known check (clock in ('real', 'platform')),
  constraint job_state_known check (state in ('WAITING', 'DEAD'))
);

create index job_by_due on job (clock, due, kind, key) where state = 'WAITING';
create index job_resting on job (not_before) where state = 'WAITING' and not_before is not null;
create index job_dead on job (failed_at) where state = 'DEAD';

-- Rows come and go all day; vacuum early so that the indexes stay short.
alter table job set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 500, fillfactor = 80);

-- Whoever holds this lock, until its transaction ends, runs the job. It is not the row's lock, so that a request can
-- enqueue or cancel a job without waiting for a run of it.
create function job_lock(kind text, key text) returns bigint language sql immutable parallel safe
  return hashtextextended(kind || chr(31) || key, 6127);

create function job_now(clock text) returns timestamptz language plpgsql volatile as $$
begin
  return case clock when 'platform' then platform_now() else clock_timestamp() end;
end $$;

-- The job of these kinds that has been due longest and that nobody is running, the platform's before those of the real
-- clock. A job may have been finished between the cursor's snapshot and our getting its lock, so it is read again under the
-- lock.
create function claim_job(kinds text[]) returns setof job language plpgsql volatile as $$
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
      if found then
        return next claimed;
        return;
      end if;
    end loop;
  end loop;
end $$;
