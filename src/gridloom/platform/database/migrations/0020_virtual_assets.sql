-- Virtual assets: their terms, their blocks, their schedules and the energy that follows; what backs them.
-- Every table is kept by the asset's key. Periods are numbers: quarter-hours since 1970 in UTC (virtual_assets/grid.py).
create extension if not exists btree_gist;

create table portfolio (
  id uuid primary key,
  organisation_id uuid not null references organisation,
  name text not null,
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  constraint portfolio_of_organisation unique (organisation_id, id),
  constraint portfolio_name_sized check (length(name) between 1 and 200)
);

create table virtual_asset (
  asset_key int primary key references asset,
  organisation_id uuid not null references organisation,
  portfolio_id uuid,
  name text not null,
  start_at timestamptz(3) not null,
  end_at timestamptz(3) not null,
  delivery_zone text not null,
  eic_code text,
  rated_charge_power_kw double precision not null,
  rated_discharge_power_kw double precision not null,
  energy_capacity_kwh double precision not null,
  charge_efficiency double precision not null,
  discharge_efficiency double precision not null,
  daily_cycle_limit double precision,
  annual_cycle_limit double precision,
  ramp_rate_kw_s double precision,
  gate_closure_s int not null,
  initial_soc double precision not null,
  final_soc_target double precision not null,
  final_soc_tolerance double precision not null,
  auction_id uuid,
  created_at timestamptz(3) not null,
  version int not null,                               -- of the schedules; whoever changes them locks this row first
  end_kwh double precision not null,                  -- stored energy at the end of life
  first_misfit int,                                   -- the earliest period known not to fit, cut when its gate closes
  judged_until int,                                   -- periods before this one were judged at gate closure, for good
  constraint virtual_asset_portfolio_is_its_owners
    foreign key (organisation_id, portfolio_id) references portfolio (organisation_id, id),
  constraint virtual_asset_name_sized check (length(name) between 1 and 200),
  constraint virtual_asset_window_on_the_grid check (
    start_at < end_at and mod(extract(epoch from start_at)::numeric, 900) = 0
    and mod(extract(epoch from end_at)::numeric, 900) = 0),
  constraint virtual_asset_power_sane check (rated_charge_power_kw >= 0 and rated_discharge_power_kw >= 0),
  constraint virtual_asset_energy_sane check (energy_capacity_kwh > 0),
  constraint virtual_asset_efficiency_is_a_ratio check (
    charge_efficiency > 0 and charge_efficiency <= 1 and discharge_efficiency > 0 and discharge_efficiency <= 1),
  constraint virtual_asset_soc_is_a_ratio check (
    initial_soc between 0 and 1 and final_soc_target between 0 and 1 and final_soc_tolerance between 0 and 1),
  constraint virtual_asset_gate_closure_sane check (gate_closure_s >= 0)
) with (fillfactor = 70);
-- An auction is allocated once.
create unique index virtual_asset_of_auction on virtual_asset (auction_id) where auction_id is not null;
create index virtual_asset_by_portfolio on virtual_asset (organisation_id, portfolio_id);
create index virtual_asset_by_end on virtual_asset (organisation_id, end_at);

-- Which physical assets stand behind a virtual one, and with how much.
create table virtual_backing (
  asset_key int not null references asset,
  physical_asset_key int not null references asset,
  position smallint not null,
  share double precision not null,
  charge_kw double precision not null,
  discharge_kw double precision not null,
  energy_kwh double precision not null,
  primary key (asset_key, physical_asset_key),
  constraint virtual_backing_share_is_a_ratio check (share > 0 and share <= 1)
);
create index virtual_backing_by_physical on virtual_backing (physical_asset_key, asset_key);

-- What of a physical asset is promised, as steps in time: one row for each moment at most, and never more than there was
-- when it was promised. Both are guaranteed here, whatever the service does.
create table capacity_promised (
  physical_asset_key int not null references asset,
  start_at timestamptz(3) not null,
  end_at timestamptz(3) not null,
  charge_kw double precision not null,
  discharge_kw double precision not null,
  energy_kwh double precision not null,
  limit_charge_kw double precision not null,
  limit_discharge_kw double precision not null,
  limit_energy_kwh double precision not null,
  primary key (physical_asset_key, start_at),
  constraint capacity_promised_window_ordered check (start_at < end_at),
  constraint capacity_promised_once
    exclude using gist (physical_asset_key with =, tstzrange(start_at, end_at) with &&),
  constraint capacity_promised_within_capacity check (
    charge_kw <= limit_charge_kw + 1e-6 and discharge_kw <= limit_discharge_kw + 1e-6
    and energy_kwh <= limit_energy_kwh + 1e-6)
);

-- A block's row is valid for the asset's versions [since_version, until_version); the standing one has no end.
create table virtual_block (
  asset_key int not null references asset,
  id uuid not null,
  since_version int not null,
  until_version int,
  lane smallint not null,
  first_period int not null,
  end_period int not null,
  market text not null,
  charge_kw double precision not null,
  discharge_kw double precision not null,
  primary key (asset_key, id, since_version),
  constraint virtual_block_market_known check (market in ('WHOLESALE', 'FCR', 'AFRR_POS', 'AFRR_NEG')),
  constraint virtual_block_window_ordered check (first_period < end_period),
  constraint virtual_block_power_sane check (charge_kw >= 0 and discharge_kw >= 0),
  constraint virtual_block_alone_on_its_lane exclude using gist (
    asset_key with =, lane with =, int4range(first_period, end_period) with &&) where (until_version is null)
);
create unique index virtual_block_standing on virtual_block (asset_key, id) where until_version is null;

-- A lane's power over one day of UTC. A day that was never scheduled has no row.
create table virtual_schedule (
  asset_key int not null references asset,
  lane smallint not null,
  day int not null,
  power_kw double precision[] not null,
  primary key (asset_key, day, lane),
  constraint virtual_schedule_has_96_periods check (cardinality(power_kw) = 96)
) with (fillfactor = 70);

-- What each day does to the stored energy, 32 days a row: enough to judge a whole life without reading its schedules.
create table virtual_energy (
  asset_key int not null references asset,
  span int not null,
  change_kwh double precision[] not null,
  lowest_kwh double precision[] not null,
  highest_kwh double precision[] not null,
  exported_kwh double precision[] not null,
  primary key (asset_key, span),
  constraint virtual_energy_has_32_days check (
    cardinality(change_kwh) = 32 and cardinality(lowest_kwh) = 32 and cardinality(highest_kwh) = 32
    and cardinality(exported_kwh) = 32)
) with (fillfactor = 50);

-- Every accepted version: who, when, what. Rows are only ever added.
create table schedule_version (
  asset_key int not null references asset,
  version int not null,
  kind text not null,
  accepted_at timestamptz(3) not null,
  author_kind text not null,
  author_id uuid,
  block_id uuid,
  primary key (asset_key, version),
  constraint schedule_version_kind_known
    check (kind in ('ALLOCATION', 'SCHEDULE', 'CARVING', 'GIVING_BACK', 'ADJUSTMENT'))
);
create index schedule_version_by_time on schedule_version (asset_key, accepted_at, version);

-- The periods a version set on a lane: runs of consecutive periods, and their powers one after the other.
create table schedule_change (
  asset_key int not null references asset,
  version int not null,
  lane smallint not null,
  first_period int not null,
  end_period int not null,
  run_first int[] not null,
  run_length int[] not null,
  power_kw double precision[] not null,
  primary key (asset_key, version, lane),
  constraint schedule_change_runs_match check (cardinality(run_first) = cardinality(run_length))
);
create index schedule_change_by_period on schedule_change (asset_key, end_period, first_period);

create table schedule_adjustment (
  asset_key int not null references asset,
  period int not null,
  version int not null,
  accepted_kw double precision not null,
  adjusted_kw double precision not null,
  reason text not null,
  primary key (asset_key, period),
  constraint schedule_adjustment_reason_known
    check (reason in ('STATE_OF_ENERGY_BOUNDARIES', 'AVAILABILITY', 'CYCLE_LIMIT'))
);
