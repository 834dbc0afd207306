-- Telemetry. A request's points of one asset and market day are one segment, appended and never changed; a job folds the
-- segments of a closed day into one chunk per signal. Where both hold a point, the segment wins; of two segments, the later.
-- Every key opens with the asset's, so that a distributed database keeps an asset's telemetry in one place.

-- One row per asset with telemetry: locking it puts an asset's writers in order, so sequences commit in order.
create table telemetry_head (
  asset_key int primary key references asset,
  born uuid not null default gen_random_uuid(),  -- what caches of the dictionary are checked against
  sequence bigint not null default 0,            -- that of the last segment
  signal_count int not null default 0,
  latest bytea not null default '',              -- per signal in the order of its id: last time (int64, µs) and value (float64)
  watched_until timestamptz                      -- while somebody streams, writers notify
) with (fillfactor = 50);

create table telemetry_signal (
  asset_key int not null references telemetry_head,
  signal_id smallint not null,
  name text not null,
  primary key (asset_key, signal_id),
  constraint telemetry_signal_name_unique unique (asset_key, name),
  constraint telemetry_signal_id_counts check (signal_id >= 0),
  constraint telemetry_signal_name_sane check (name ~ '^[a-z0-9_.]{1,64}$')
);

create table telemetry_segment (
  asset_key int not null references telemetry_head,
  day date not null,                             -- the market day
  sequence bigint not null,
  points int not null,
  written_at timestamptz not null default clock_timestamp(),
  body bytea not null,
  primary key (asset_key, day, sequence)
);
alter table telemetry_segment alter body set storage external;

create table telemetry_chunk (
  asset_key int not null references telemetry_head,
  signal_id smallint not null,
  day date not null,
  points int not null,
  first_us bigint not null,
  last_us bigint not null,
  first_value float8 not null,
  last_value float8 not null,
  lowest float8 not null,
  highest float8 not null,
  total float8 not null,
  body bytea not null,
  primary key (asset_key, signal_id, day),
  constraint telemetry_chunk_holds_points check (points > 0)
);
alter table telemetry_chunk alter body set storage external;
-- Retention walks by day.
create index telemetry_chunk_by_day on telemetry_chunk (day, asset_key);

-- Segments come and go; their pages must be free again soon.
alter table telemetry_segment set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
alter table telemetry_head set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
