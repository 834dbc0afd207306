-- The power that the virtual store follows in a period that was cut: what was announced of the cut. Until this release it
-- followed the whole cut.
alter table schedule_adjustment add column scheduled_kw double precision;
update schedule_adjustment set scheduled_kw = adjusted_kw, announced_kw = coalesce(announced_kw, adjusted_kw);

-- The energy of a virtual asset that announced unavailabilities had put out of reach at the start of a period, and the
-- available part of its energy capacity just before: what happens after the gate of a period does not change it.
create table virtual_reach (
  asset_key int primary key references virtual_asset (asset_key) on delete cascade,
  period int not null,
  unreachable_kwh double precision not null,
  available_fraction double precision not null,
  constraint virtual_reach_sane check (unreachable_kwh >= 0 and available_fraction between 0 and 1)
);

-- What each battery failed in a period: what of the zone's undelivered power is its owner's, what it should have given,
-- and which batteries gave that instead. A later correction of an outage replaces rows and keeps the old ones.
create table battery_failure (
  asset_key int not null references asset (key),
  period int not null,
  missed_kw double precision not null,
  short_kw double precision not null,
  helper_keys int[] not null,
  helper_kw double precision[] not null,
  recorded_at timestamptz(3) not null,
  superseded_at timestamptz(3),
  primary key (asset_key, period, recorded_at),
  constraint battery_failure_sane check (short_kw >= 0 and cardinality(helper_keys) = cardinality(helper_kw))
);
create index battery_failure_by_helper on battery_failure using gin (helper_keys);

-- From which period on failures are settled: the first month that was not issued when this release came.
create table failures_settled (
  only_one boolean primary key default true,
  first_period int not null,
  constraint failures_settled_once check (only_one)
);
insert into failures_settled (first_period)
select coalesce(
  (select (extract(epoch from (max(month) + interval '1 month')::timestamp at time zone 'Europe/Berlin') / 900)::int
   from statement_month),
  0);

-- What is final of the open months is assessed once.
insert into job (kind, key, clock, due)
select 'delivery.assess-failures',
       z.delivery_zone || '/' || greatest(f.first_period, z.settled_until - 96 * 62) || '/' || z.settled_until,
       'platform', platform_now()
from delivery_zone z cross join failures_settled f
where z.settled_until is not null and z.settled_until > f.first_period
on conflict (kind, key) do nothing;
