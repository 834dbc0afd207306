-- A battery that was set INACTIVE or DECOMMISSIONED while it had promises to keep is out with its whole volume until the last
-- of them ends: nothing is dispatched on it, and what it owes shows as missing.
insert into unavailability (asset_key, id, description, type, starts_at, ends_at, energy_kwh, charge_power_kw,
                            discharge_power_kw, created_by)
select p.asset_key, gen_random_uuid(), 'Retired while promises stood', 'OTHER', platform_now(),
       to_timestamp(h.last_period::bigint * 900), r.energy_kwh, r.charge_kw, r.discharge_kw,
       '00000000-0000-0000-0000-000000000000'
from physical_asset p
join (select asset_key, max(end_period) as last_period from capacity_holding
      where is_firm and end_period > extract(epoch from platform_now()) / 900
      group by asset_key) h on h.asset_key = p.asset_key
join (select asset_key, max(energy_capacity_kwh) as energy_kwh, max(rated_charge_power_kw) as charge_kw,
             max(rated_discharge_power_kw) as discharge_kw
      from physical_asset_parameters group by asset_key) r on r.asset_key = p.asset_key
where p.status <> 'ACTIVE';

-- The virtual assets behind which they stand are looked at again, and so are their zones.
insert into job (kind, key, clock, due)
select 'physical-assets.availability-changed', u.asset_key::text, 'platform', platform_now()
from unavailability u where u.created_by = '00000000-0000-0000-0000-000000000000'
on conflict (kind, key) do nothing;
insert into job (kind, key, clock, due)
select 'delivery.dispatch', p.delivery_zone, 'platform', platform_now()
from physical_asset p join unavailability u on u.asset_key = p.asset_key
where u.created_by = '00000000-0000-0000-0000-000000000000' group by p.delivery_zone
on conflict (kind, key) do nothing;
