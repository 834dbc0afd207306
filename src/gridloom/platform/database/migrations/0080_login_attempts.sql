-- Attempts to log in are counted before the password is looked at, in all their buckets or in none; and the networks from
-- which a member has signed in are remembered, so that failures elsewhere never shut it out there.

create table sign_in_network (
  member_id uuid not null references member on delete cascade,
  network text not null,
  last_at timestamptz(3) not null,
  primary key (member_id, network)
);
create index sign_in_network_by_age on sign_in_network (last_at);

-- Seconds until every bucket has room for one more attempt; 0 when it had, and the attempt is counted. The first look
-- takes no lock: an attempt that is refused costs a read. Then the rows are locked in their order, so attempts that
-- come at once are counted one after the other.
create function login_attempt(subjects bytea[], capacities float8[], seconds_each float8[]) returns float8
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
      measured_at = counted_at, empty_at = counted_at + b.capacity * b.each * interval '1 second'
  from unnest(subjects, capacities, seconds_each) as b (subject, capacity, each)
  where t.subject = b.subject;
  return 0;
end $$;

create function login_wait_s(subjects bytea[], capacities float8[], seconds_each float8[], at timestamptz) returns float8
language sql volatile as $$
  select coalesce(max((greatest(0, t.level - extract(epoch from at - t.measured_at) / b.each) - (b.capacity - 1)) * b.each), 0)
  from unnest(subjects, capacities, seconds_each) as b (subject, capacity, each)
  join login_throttle t on t.subject = b.subject
$$;
