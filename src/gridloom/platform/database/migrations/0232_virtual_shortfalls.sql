-- What of a virtual asset was not there at the gates of its periods, for what is not there is not paid for. Written before
-- anything changes that counts for periods whose gates have closed; until then what stands is what stood at those gates.
create table virtual_availability_seal (
  asset_key int primary key references asset,
  sealed_until int not null                  -- the first period that is not sealed yet
);

-- Stretches of periods in which something was missing; what has none was there in full.
create table virtual_shortfall (
  asset_key int not null references asset,
  first_period int not null,
  end_period int not null,
  missing_share double precision not null,   -- of what is rated: 1 - min(mean of charge and discharge, energy)
  battery_keys int[] not null,               -- the batteries that fell short
  battery_shares double precision[] not null, -- each battery's share of the asset times what it fell short of
  primary key (asset_key, first_period),
  constraint virtual_shortfall_window_ordered check (first_period < end_period),
  constraint virtual_shortfall_is_a_part check (missing_share > 0 and missing_share <= 1),
  constraint virtual_shortfall_has_batteries check (
    cardinality(battery_keys) > 0 and cardinality(battery_keys) = cardinality(battery_shares))
);
