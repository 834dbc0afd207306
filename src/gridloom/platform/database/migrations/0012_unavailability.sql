-- What is missing from an asset and when, and the market messages that say so.

create table exchange_notification (
  asset_key int not null references asset,
  id uuid not null,
  message_id text not null,
  latest_version int not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (asset_key, id),
  constraint exchange_notification_message_unique unique (asset_key, message_id)
);

-- A revision adds a row; only the status of the row before it changes, to DISMISSED.
create table exchange_notification_version (
  asset_key int not null,
  notification_id uuid not null,
  version int not null,
  event_status text not null,
  unavailability_type text not null,
  event_type text not null,
  reason_code text not null,
  unit_type text not null,
  asset_name text not null,
  asset_eic text not null,
  bidding_zone text not null,
  participant_name text not null,
  installed_capacity_kw double precision not null,
  available_capacity_kw double precision not null,
  unavailable_capacity_kw double precision not null,
  capacity_intervals jsonb not null,
  starts_at timestamptz(3) not null,
  ends_at timestamptz(3) not null,
  duration_uncertainty text,
  cause text not null,
  remarks text,
  published_at timestamptz(3) not null,
  published_by uuid not null,
  primary key (asset_key, notification_id, version),
  foreign key (asset_key, notification_id) references exchange_notification (asset_key, id),
  constraint notification_event_status_known check (event_status in ('ACTIVE', 'DISMISSED', 'INACTIVE')),
  constraint notification_unavailability_type_known check (unavailability_type in ('PLANNED', 'UNPLANNED')),
  constraint notification_window_ordered check (starts_at < ends_at)
);

create table unavailability (
  asset_key int not null references asset,
  id uuid not null,
  description text not null,
  type text not null,
  starts_at timestamptz(3) not null,
  ends_at timestamptz(3) not null,
  energy_kwh double precision not null,
  charge_power_kw double precision not null,
  discharge_power_kw double precision not null,
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  created_by uuid not null,
  updated_at timestamptz(3) not null default clock_timestamp(),
  primary key (asset_key, id),
  constraint unavailability_type_known check (type in
    ('MAINTENANCE', 'OUTAGE', 'REDISPATCH', 'GRID_CONSTRAINT', 'CURTAILMENT', 'TESTING', 'COMMISSIONING', 'OTHER')),
  constraint unavailability_window_ordered check (starts_at < ends_at),
  constraint unavailability_volume_sane check (energy_kwh >= 0 and charge_power_kw >= 0 and discharge_power_kw >= 0)
);
-- What overlaps a window is what ends after its start and starts before its end.
create index unavailability_by_end on unavailability (asset_key, ends_at, starts_at);

create table unavailability_notification (
  asset_key int not null,
  unavailability_id uuid not null,
  notification_id uuid not null,
  position int not null,
  primary key (asset_key, unavailability_id, notification_id),
  foreign key (asset_key, unavailability_id) references unavailability (asset_key, id) on delete cascade,
  foreign key (asset_key, notification_id) references exchange_notification (asset_key, id)
);
create index unavailability_by_notification on unavailability_notification (asset_key, notification_id);
