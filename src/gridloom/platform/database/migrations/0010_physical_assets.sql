-- Physical assets: what they are, what they are rated for and from when, their fleets, metadata and own schedules.
-- fleet and physical_asset stay small (reference tables when distributed); the rest is kept by asset.

create table fleet (
  id uuid primary key,
  organisation_id uuid not null references organisation,
  name text not null,
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  constraint fleet_name_sized check (length(name) between 1 and 200)
);
create index fleet_by_organisation on fleet (organisation_id, id);

create table physical_asset (
  asset_key int primary key references asset,
  fleet_id uuid references fleet on delete set null,
  name text not null,
  delivery_zone text not null,
  control_area text not null,
  eic_code text,
  commissioned_on date,
  status text not null default 'ACTIVE',
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  constraint physical_asset_name_sized check (length(name) between 1 and 200),
  constraint physical_asset_delivery_zone_known check (delivery_zone in ('50Hertz', 'Amprion', 'TenneT', 'TransnetBW')),
  constraint physical_asset_control_area_known check (control_area in ('50Hertz', 'Amprion', 'TenneT', 'TransnetBW')),
  constraint physical_asset_status_known check (status in ('ACTIVE', 'INACTIVE', 'DECOMMISSIONED'))
);
create index physical_asset_by_fleet on physical_asset (fleet_id) where fleet_id is not null;

-- Versions are only ever added. In force at an instant: the latest valid_from not after it; of equals the highest version.
create table physical_asset_parameters (
  asset_key int not null references asset,
  version int not null,
  valid_from timestamptz(3) not null,
  rated_charge_power_kw double precision not null,
  rated_discharge_power_kw double precision not null,
  energy_capacity_kwh double precision not null,
  min_state_of_charge double precision not null,
  max_state_of_charge double precision not null,
  charge_efficiency double precision not null,
  discharge_efficiency double precision not null,
  ramp_rate_kw_s double precision,
  daily_cycle_limit double precision,
  annual_cycle_limit double precision,
  fcr_limit_ratio double precision not null,
  recorded_at timestamptz(3) not null default clock_timestamp(),
  recorded_by uuid not null,
  primary key (asset_key, version),
  constraint parameters_power_sane check (rated_charge_power_kw >= 0 and rated_discharge_power_kw >= 0),
  constraint parameters_energy_sane check (energy_capacity_kwh > 0),
  constraint parameters_state_of_charge_ordered
    check (0 <= min_state_of_charge and min_state_of_charge < max_state_of_charge and max_state_of_charge <= 1),
  constraint parameters_efficiency_is_a_ratio
    check (charge_efficiency > 0 and charge_efficiency <= 1 and discharge_efficiency > 0 and discharge_efficiency <= 1),
  constraint parameters_fcr_limit_is_a_ratio check (fcr_limit_ratio between 0 and 1)
);
create index physical_asset_parameters_in_force on physical_asset_parameters (asset_key, valid_from, version);

create table physical_asset_metadata (
  asset_key int not null references asset,
  category text not null,
  body jsonb not null,
  version int not null default 1,
  updated_at timestamptz(3) not null default clock_timestamp(),
  updated_by uuid not null,
  primary key (asset_key, category),
  constraint metadata_category_known check (category in ('grid', 'site', 'technical', 'contract', 'market'))
);

-- One row per scheduled delivery period, named by its start; positive is export.
create table physical_schedule (
  asset_key int not null references asset,
  period timestamptz(3) not null,
  power_kw double precision not null,
  primary key (asset_key, period),
  constraint physical_schedule_on_the_quarter_hour check (mod(extract(epoch from period)::numeric, 900) = 0)
);

create table physical_schedule_version (
  asset_key int primary key references asset,
  version int not null,
  updated_at timestamptz(3) not null default clock_timestamp(),
  updated_by uuid not null
);
