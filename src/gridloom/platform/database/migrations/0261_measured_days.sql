-- What was measured of a battery in each quarter-hour of a market day, as a fact with versions: written when the day's
-- telemetry is folded, or statements are issued, and kept when the telemetry itself is gone. `body` holds packed arrays,
-- one value for each quarter-hour of the day.
create table measured_day (
  asset_key int not null references asset,
  day date not null,
  version int not null,
  recorded_at timestamptz(3) not null,
  body bytea not null,
  primary key (asset_key, day, version)
);
alter table measured_day alter body set storage external;

insert into version_start (what, since)
select 'measured_day', date_trunc('milliseconds', platform_now()) + interval '1 millisecond'
where exists (select from telemetry_segment) or exists (select from telemetry_chunk);
