-- What settled aFRR activations have taken from and brought to the grid, by days of UTC as schedules are: written with the
-- settlements, read wherever the energy in the store is asked for.
create table virtual_activation (
  asset_key int not null,
  day int not null,
  up_kwh double precision[] not null,
  down_kwh double precision[] not null,
  primary key (asset_key, day),
  constraint virtual_activation_of_whole_days check (cardinality(up_kwh) = 96 and cardinality(down_kwh) = 96)
);

alter table virtual_asset add column first_activated int;  -- no activation was ever settled for a period before this one

insert into virtual_activation (asset_key, day, up_kwh, down_kwh)
select asset_key, day, array_agg(up_kwh order by slot), array_agg(down_kwh order by slot)
from (
  select d.asset_key, d.day, s.slot,
    coalesce(sum(f.volume_mwh) filter (where f.direction = 'POS'), 0)::float8 * 1000 as up_kwh,
    coalesce(sum(f.volume_mwh) filter (where f.direction = 'NEG'), 0)::float8 * 1000 as down_kwh
  from (select distinct f.asset_key, floor(extract(epoch from f.period) / 86400)::int as day
        from afrr_activation f join virtual_asset v on v.asset_key = f.asset_key) d
  cross join generate_series(0, 95) as s(slot)
  left join afrr_activation f on f.asset_key = d.asset_key and f.period = to_timestamp(d.day * 86400.0 + s.slot * 900)
  group by d.asset_key, d.day, s.slot) by_period
group by asset_key, day;

update virtual_asset v set first_activated = activated.first_period
from (select asset_key, min(floor(extract(epoch from period) / 900))::int as first_period
      from afrr_activation group by asset_key) activated
where activated.asset_key = v.asset_key;
