-- Counting an attempt, in forms that a distributed database takes: in a change, a time plus an interval must not depend on
-- a row (what that is depends on the session's time zone), and a function that reads tables is in PL/pgSQL.

create or replace function login_attempt(subjects bytea[], capacities float8[], seconds_each float8[]) returns float8
language plpgsql as $$
declare
  wait_s float8;
  counted_at timestamptz;
begin
  wait_s := login_wait_s(subjects, capacities, seconds_each, clock_timestamp());
  if wait_s > 0 then
    return wait_s;
  end if;
  insert into login_throttle as t (subject, level, measured_at, empty_at)
  select b.subject, 0, clock_timestamp(), clock_timestamp() from unnest(subjects) as b (subject) order by b.subject
  on conflict (subject) do update set level = t.level;
  counted_at := clock_timestamp();
  wait_s := login_wait_s(subjects, capacities, seconds_each, counted_at);
  if wait_s > 0 then
    return wait_s;
  end if;
  update login_throttle t
  set level = 1 + greatest(0, t.level - extract(epoch from counted_at - t.measured_at) / b.each),
      measured_at = counted_at, empty_at = to_timestamp(date_part('epoch', counted_at) + b.capacity * b.each)
  from unnest(subjects, capacities, seconds_each) as b (subject, capacity, each)
  where t.subject = b.subject;
  return 0;
end $$;

create or replace function login_wait_s(
  subjects bytea[], capacities float8[], seconds_each float8[], at timestamptz
) returns float8 language plpgsql volatile as $$
begin
  return (
    select coalesce(max((greatest(0, t.level - extract(epoch from at - t.measured_at) / b.each) - (b.capacity - 1)) * b.each), 0)
    from unnest(subjects, capacities, seconds_each) as b (subject, capacity, each)
    join login_throttle t on t.subject = b.subject
  );
end $$;
