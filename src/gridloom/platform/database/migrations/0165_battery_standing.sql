-- All that the books of batteries are made of: ratings from when they hold, outages, and what is held of each battery.
-- Whoever judges by a book reads it here, alone or along with what it judges. Conditions on asset_key and on the columns
-- that a kind of row has reach through to its table; the columns of the other kinds are null there.
create view battery_standing as
  select asset_key, valid_from as starts_at, null::timestamptz as ends_at, rated_charge_power_kw as charge_kw,
         rated_discharge_power_kw as discharge_kw, energy_capacity_kwh as energy_kwh, fcr_limit_ratio, charge_efficiency,
         discharge_efficiency, max_state_of_charge - min_state_of_charge as usable_share, null::text as kind,
         null::uuid as holder_id, null::int as first_period, null::int as end_period, null::boolean as is_firm,
         null::uuid as organisation_id, null::text as product
  from (select distinct on (asset_key, valid_from) * from physical_asset_parameters
        order by asset_key, valid_from, version desc) as in_force
  union all
  select asset_key, starts_at, ends_at, charge_power_kw, discharge_power_kw, energy_kwh, null, null, null, null, null,
         null, null, null, null, null, null
  from unavailability
  union all
  select asset_key, null, null, charge_kw, discharge_kw, energy_kwh, null, charge_efficiency, discharge_efficiency, null,
         kind, holder_id, first_period, end_period, is_firm, organisation_id, product
  from capacity_holding;
