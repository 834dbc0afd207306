-- What batteries must do for the virtual assets they back: runs by delivery zone, and each battery's dispatch.
-- There are four zones; their tables are small and live beside the job queue. Periods are numbers (virtual_assets/grid.py).

-- The plan that stands in each zone, and what it was made from, so that the next run sees what has changed.
create table delivery_zone (
  delivery_zone text primary key,
  revision bigint not null default 0,
  run_id uuid,
  first_period int,
  end_period int,
  settled_until int,                                  -- net-off facts and unserved cuts are written for periods before
  stamps jsonb not null default '{}',
  plan bytea
);
alter table delivery_zone alter plan set storage external;

create table delivery_run (
  id uuid primary key,
  delivery_zone text not null,
  began_at timestamptz(3) not null,
  first_period int not null,
  end_period int not null,
  final_until int not null,
  virtual_assets int not null,
  batteries int not null,
  scheduled_export_mwh double precision not null,
  scheduled_import_mwh double precision not null,
  netted_mwh double precision not null,
  spread_mwh double precision not null,
  unserved_mwh double precision not null,
  forced_periods int not null,
  changed_batteries int not null,
  method text not null,
  solver_s double precision not null,
  constraint delivery_run_method_known check (method in ('CLOSED_FORM', 'LINEAR_PROGRAMME', 'PROPORTIONAL')),
  constraint delivery_run_window_ordered check (first_period < end_period)
);
create index delivery_run_by_time on delivery_run (began_at, id);
create index delivery_run_by_zone on delivery_run (delivery_zone, began_at, id);

-- A version holds the periods that it changed; what stands is all of them laid over each other. Rows are only ever added.
create table dispatch_version (
  asset_key int not null references asset,
  version int not null,
  run_id uuid not null,
  recorded_at timestamptz(3) not null,
  first_period int not null,
  end_period int not null,
  body bytea not null,
  primary key (asset_key, version),
  constraint dispatch_version_window_ordered check (first_period < end_period)
);
alter table dispatch_version alter body set storage external;
create index dispatch_version_by_end on dispatch_version (asset_key, end_period, first_period);

-- By which part a zone's exports and imports were netted, again as versions of the periods that they changed.
create table delivery_netting (
  delivery_zone text not null,
  version bigint not null,
  recorded_at timestamptz(3) not null,
  first_period int not null,
  end_period int not null,
  exported_part double precision[] not null,
  imported_part double precision[] not null,
  primary key (delivery_zone, version),
  constraint delivery_netting_whole check (
    cardinality(exported_part) = end_period - first_period and cardinality(imported_part) = end_period - first_period)
);
create index delivery_netting_by_end on delivery_netting (delivery_zone, end_period, first_period);

-- Zones in which virtual assets live get their first run.
create index virtual_asset_by_zone on virtual_asset (delivery_zone, end_at);
insert into job (kind, key, clock, due)
  select 'delivery.dispatch', delivery_zone, 'platform', platform_now() from virtual_asset
  where end_at > platform_now() group by delivery_zone
  on conflict (kind, key) do nothing;
