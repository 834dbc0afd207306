-- Compacted telemetry: one block holds all signals of an asset over one or several market days of a month. Times that
-- signals share are stored once; each signal's values are a slice of the body, so one is read without the others.
-- Where blocks overlap, the narrower one is newer; the older telemetry_chunk and all segments win over blocks.
create table telemetry_block (
  asset_key int not null references telemetry_head,
  first_day date not null,
  last_day date not null,
  signal_ids smallint[] not null,
  points int[] not null,                         -- of each signal
  first_us bigint[] not null,                    -- the first time of each signal
  starts int[] not null,                         -- where each signal's slice of the body starts, and where the last ends
  times bytea not null,
  summaries bytea not null,                      -- of each signal and day: points, first, last, lowest, highest, total
  body bytea not null,
  primary key (asset_key, last_day, first_day),
  constraint telemetry_block_within_month check (
    first_day <= last_day and date_trunc('month', first_day::timestamp) = date_trunc('month', last_day::timestamp))
);
alter table telemetry_block alter times set storage external;
alter table telemetry_block alter summaries set storage external;
alter table telemetry_block alter body set storage external;
-- Retention walks by day.
create index telemetry_block_by_day on telemetry_block (last_day);
-- A day that is overwritten again and again leaves a dead segment with each write.
alter table telemetry_segment set (autovacuum_vacuum_threshold = 100, toast.autovacuum_vacuum_threshold = 1000);
