-- What every request may need: the platform's clock, safe retries, shared rate limits.

create table environment (
  is_only boolean primary key default true constraint environment_is_one check (is_only),
  name text not null constraint environment_known check (name in ('production', 'sandbox')),
  established_at timestamptz(3) not null default clock_timestamp()
);

-- The clock of the business. It is the real one; only a sandbox replaces this function (database/environment.py).
create function platform_now() returns timestamptz language sql volatile parallel safe
  return clock_timestamp();

create table idempotency (
  caller_key text not null,
  key_digest bytea not null,
  fingerprint bytea not null,
  status smallint not null,
  headers text not null,
  body bytea not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (caller_key, key_digest)
);
create index idempotency_by_age on idempotency (created_at);

-- One statement: whether no other attempt is running, and what an earlier one answered. The lock lasts as long as the
-- transaction; a second attempt sees it taken and need not wait. Each statement here has its own snapshot, so an attempt
-- that committed just before the lock was had is seen.
create function idempotency_begin(
  asked_caller text, asked_digest bytea, lock_key bigint, kept_for interval,
  out is_free boolean, out fingerprint bytea, out status smallint, out headers text, out body bytea
) language plpgsql as $$
begin
  is_free := pg_try_advisory_xact_lock(lock_key);
  if is_free then
    select i.fingerprint, i.status, i.headers, i.body into fingerprint, status, headers, body
    from idempotency i
    where i.caller_key = asked_caller and i.key_digest = asked_digest and i.created_at > clock_timestamp() - kept_for;
  end if;
end $$;

-- Losing these counts in a crash of the database costs one minute's limit, so they are not logged.
create unlogged table rate_limit (
  key text not null,
  window_start timestamptz not null,
  used int not null,
  granted int not null,
  primary key (key, window_start)
);

create function rate_limit_lease(
  asked_key text, size int, most int, out granted int, out used int, out window_left_s float8
) language plpgsql as $$
declare
  started timestamptz := date_bin('1 minute', clock_timestamp(), timestamptz 'epoch');
begin
  insert into rate_limit as r (key, window_start, used, granted)
  values (asked_key, started, least(size, most), least(size, most))
  on conflict (key, window_start) do update
    set granted = greatest(0, least(size, most - r.used)), used = greatest(r.used, least(r.used + size, most))
  returning r.granted, r.used into granted, used;
  window_left_s := extract(epoch from started + interval '1 minute' - clock_timestamp());
end $$;
