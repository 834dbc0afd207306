-- Drift of a battery that is placed on the day-ahead market: its power in each quarter-hour of a market day.
create table delivery_drift (
  asset_key int not null references asset,
  day date not null,
  first_period int not null,
  power_kw double precision[] not null,
  recorded_at timestamptz(3) not null,
  primary key (asset_key, day)
);

-- Balancing reserve of a virtual asset that no battery held, by the battery that failed; final.
create table reserve_shortfall (
  asset_key int not null references asset,
  period int not null,
  market text not null,
  physical_asset_key int not null references asset,
  power_kw double precision not null,
  is_announced boolean not null,
  recorded_at timestamptz(3) not null,
  primary key (asset_key, period, market, physical_asset_key),
  constraint reserve_shortfall_market_known check (market in ('FCR', 'AFRR_POS', 'AFRR_NEG')),
  constraint reserve_shortfall_positive check (power_kw > 0)
);

-- What a run has left of reserves, in MW times hours.
alter table delivery_run add column reserve_shortfall_mwh double precision not null default 0;

-- The last run of a zone that failed, until one succeeds.
alter table delivery_zone
  add column failed_at timestamptz(3),
  add column failure text;

-- Arrays of current plans by the names that the code gives them now.
update delivery_plan_piece set name = renamed.new
from (values
  ('plan.due_start_kwh', 'plan.share_energy_start_kwh'),
  ('plan.due_changes_kwh', 'plan.share_energy_changes_kwh'),
  ('plan.stand_by_of', 'plan.reserve_keys'),
  ('plan.stand_by_kw', 'plan.reserve_kw'),
  ('plan.netted_part', 'plan.netted_fraction'),
  ('plan.quarters_kw', 'plan.totals_kw')
) renamed (old, new)
where delivery_plan_piece.name = renamed.old;
