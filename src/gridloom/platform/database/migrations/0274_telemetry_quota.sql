-- How much telemetry an organisation's batteries may store; null: no limit.
alter table organisation add column telemetry_quota_bytes bigint,
  add constraint organisation_telemetry_quota_sane check (telemetry_quota_bytes >= 0);

-- What is stored of each organisation, counted by the hour, and since when that is near its quota.
create table telemetry_usage (
  organisation_id uuid primary key,
  used_bytes bigint not null,
  counted_at timestamptz(3) not null,
  near_since timestamptz(3)
);
