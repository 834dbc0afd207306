-- The book of each battery: who holds how much of it and when. Periods are quarter-hours since 1970 in UTC.
-- Kept by the battery's key and changed under its lock. A holding stands in its holder's own terms; the battery's
-- parameters weigh it when the book is read. A battery's own schedule is part of its book as it is (physical_schedule).

create table capacity_holding (
  asset_key int not null references asset,
  holder_id uuid not null,                    -- the virtual asset, the auction or the bid
  kind text not null,
  first_period int not null,
  end_period int not null,
  charge_kw double precision not null,
  discharge_kw double precision not null,
  energy_kwh double precision not null,
  is_firm boolean not null,                   -- false while a bid waits for its result
  charge_efficiency double precision,         -- of a virtual asset
  discharge_efficiency double precision,
  organisation_id uuid,                       -- who holds a virtual asset
  product text,                               -- of a bid
  primary key (asset_key, holder_id),
  constraint capacity_holding_kind_known
    check (kind in ('VIRTUAL_ASSET', 'AUCTION', 'FCR', 'AFRR_CAPACITY', 'AFRR_ENERGY')),
  constraint capacity_holding_window_ordered check (first_period < end_period),
  constraint capacity_holding_amounts_sane check (charge_kw >= 0 and discharge_kw >= 0 and energy_kwh >= 0),
  constraint capacity_holding_virtual_has_losses check (
    (kind in ('VIRTUAL_ASSET', 'AUCTION')) = (charge_efficiency is not null and discharge_efficiency is not null))
);
create index capacity_holding_by_end on capacity_holding (asset_key, end_period, first_period);

-- What stands already: promises, auctions that are not over, bids that wait or were accepted.
insert into capacity_holding
select b.physical_asset_key, a.id, 'VIRTUAL_ASSET', (extract(epoch from v.start_at) / 900)::int,
       (extract(epoch from v.end_at) / 900)::int, b.share * v.rated_charge_power_kw,
       b.share * v.rated_discharge_power_kw, b.share * v.energy_capacity_kwh, true, v.charge_efficiency,
       v.discharge_efficiency, v.organisation_id, null
from virtual_backing b join virtual_asset v on v.asset_key = b.asset_key join asset a on a.key = b.asset_key;

insert into capacity_holding
select p.key, u.id, 'AUCTION', (extract(epoch from u.delivery_start) / 900)::int,
       (extract(epoch from u.delivery_end) / 900)::int, b.share * u.rated_charge_power_kw,
       b.share * u.rated_discharge_power_kw, b.share * u.energy_capacity_kwh, true, u.charge_efficiency,
       u.discharge_efficiency, null, null
from auction u join auction_backing b on b.auction_id = u.id join asset p on p.id = b.physical_asset_id
where u.state = 'SCHEDULED';

insert into capacity_holding
select asset_key, id, kind, first_period, end_period, case when is_import then capacity_kw else 0 end,
       case when is_export then capacity_kw else 0 end,
       capacity_kw * (is_import::int + is_export::int) * minutes / 60.0, is_firm, null, null, null, product
from (
  select b.asset_key, b.id, b.product, (extract(epoch from b.delivery_start) / 900)::int as first_period,
         (extract(epoch from b.delivery_end) / 900)::int as end_period, b.status = 'ACCEPTED' as is_firm,
         coalesce(r.accepted_capacity_kw, b.offered_capacity_kw) as capacity_kw,
         b.product like 'NEG%' as is_import, b.product ~ '^(POS|NEGPOS)_' as is_export,
         case when b.product like 'NEGPOS%' then 'FCR' when b.product ~ '_\d\d_\d\d$' then 'AFRR_CAPACITY'
              else 'AFRR_ENERGY' end as kind,
         case when b.product !~ '^NEGPOS' and b.product ~ '_\d\d_\d\d$' then 60 else 15 end as minutes
  from ancillary_bid b
  left join (
    select distinct on (asset_key, bid_id, delivery_day, product) asset_key, bid_id, delivery_day, product,
           accepted_capacity_kw
    from ancillary_result order by asset_key, bid_id, delivery_day, product, revision desc
  ) r on b.status = 'ACCEPTED' and r.asset_key = b.asset_key and r.bid_id = b.id and r.delivery_day = b.delivery_day
         and r.product = b.product
  where b.status in ('OFFERED', 'ACCEPTED')
) as standing
where capacity_kw > 0;

drop table capacity_promised;

-- The bids for a product are its price steps: several stand at once.
drop index ancillary_bid_standing;
drop index ancillary_bid_waiting;
create index ancillary_bid_waiting on ancillary_bid (asset_key, delivery_day, product, sequence)
  include (id, capacity_price_eur, offered_capacity_kw, energy_price_eur)
  where status = 'OFFERED';

-- What was accepted of a bid stands with it.
alter table ancillary_bid add column accepted_capacity_kw double precision;
update ancillary_bid b set accepted_capacity_kw = r.accepted_capacity_kw
from (
  select distinct on (asset_key, bid_id, delivery_day, product) asset_key, bid_id, delivery_day, product,
         accepted_capacity_kw
  from ancillary_result order by asset_key, bid_id, delivery_day, product, revision desc
) r
where r.asset_key = b.asset_key and r.bid_id = b.id and r.delivery_day = b.delivery_day and r.product = b.product
  and b.status in ('ACCEPTED', 'REJECTED');
