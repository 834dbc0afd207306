-- One trade of an exchange may cover several delivery periods, and buy in one while it sells in another.
alter table wholesale_trade drop constraint wholesale_trade_pkey;
alter table wholesale_trade add primary key (asset_key, trade_id, period, side);

-- Who stands behind a fact. What the operator has settled gives way to the operator alone; everything else is replaced
-- by what comes later.
alter table wholesale_trade add column origin text not null default 'OPERATOR';
alter table fcr_award add column origin text not null default 'OPERATOR';
alter table afrr_capacity_award add column origin text not null default 'OPERATOR';
alter table afrr_activation add column origin text not null default 'OPERATOR';
alter table net_off add column origin text not null default 'OPERATOR';
alter table tolling_contract add column origin text not null default 'OPERATOR';
alter table wholesale_trade
  add constraint wholesale_trade_origin_known check (origin in ('OPERATOR', 'TRADER'));
alter table fcr_award
  add constraint fcr_award_origin_known check (origin in ('OPERATOR', 'PROVISIONAL'));
alter table afrr_capacity_award
  add constraint afrr_capacity_award_origin_known check (origin in ('OPERATOR', 'PROVISIONAL'));
alter table net_off add constraint net_off_origin_known check (origin in ('OPERATOR', 'COMPUTED'));

alter table wholesale_trade_superseded add column origin text not null default 'OPERATOR';
alter table fcr_award_superseded add column origin text not null default 'OPERATOR';
alter table afrr_capacity_award_superseded add column origin text not null default 'OPERATOR';
alter table afrr_activation_superseded add column origin text not null default 'OPERATOR';
alter table net_off_superseded add column origin text not null default 'OPERATOR';
alter table tolling_contract_superseded add column origin text not null default 'OPERATOR';

-- The columns by name from here on: those of the two tables no longer stand in the same order.
drop view wholesale_trade_version;
create view wholesale_trade_version as
  select asset_key, trade_id, period, side, volume_mwh, price_eur_mwh, market, executed_at, recorded_at, recorded_by,
    origin, null::timestamptz(3) as superseded_at, null::uuid as superseded_by
  from wholesale_trade
  union all
  select asset_key, trade_id, period, side, volume_mwh, price_eur_mwh, market, executed_at, recorded_at, recorded_by,
    origin, superseded_at, superseded_by
  from wholesale_trade_superseded;
drop view fcr_award_version;
create view fcr_award_version as
  select asset_key, delivery_day, product, capacity_mw, price_eur_mw_h, delivery_h, recorded_at, recorded_by, origin,
    null::timestamptz(3) as superseded_at, null::uuid as superseded_by
  from fcr_award
  union all
  select asset_key, delivery_day, product, capacity_mw, price_eur_mw_h, delivery_h, recorded_at, recorded_by, origin,
    superseded_at, superseded_by
  from fcr_award_superseded;
drop view afrr_capacity_award_version;
create view afrr_capacity_award_version as
  select asset_key, delivery_day, product, capacity_mw, price_eur_mw_h, delivery_h, recorded_at, recorded_by, origin,
    null::timestamptz(3) as superseded_at, null::uuid as superseded_by
  from afrr_capacity_award
  union all
  select asset_key, delivery_day, product, capacity_mw, price_eur_mw_h, delivery_h, recorded_at, recorded_by, origin,
    superseded_at, superseded_by
  from afrr_capacity_award_superseded;
drop view afrr_activation_version;
create view afrr_activation_version as
  select asset_key, period, direction, volume_mwh, price_eur_mwh, recorded_at, recorded_by, origin,
    null::timestamptz(3) as superseded_at, null::uuid as superseded_by
  from afrr_activation
  union all
  select asset_key, period, direction, volume_mwh, price_eur_mwh, recorded_at, recorded_by, origin,
    superseded_at, superseded_by
  from afrr_activation_superseded;
drop view net_off_version;
create view net_off_version as
  select asset_key, period, volume_mwh, recorded_at, recorded_by, origin,
    null::timestamptz(3) as superseded_at, null::uuid as superseded_by
  from net_off
  union all
  select asset_key, period, volume_mwh, recorded_at, recorded_by, origin, superseded_at, superseded_by
  from net_off_superseded;
drop view tolling_contract_version;
create view tolling_contract_version as
  select asset_key, contract_id, start_at, end_at, annual_price_eur_mw, recorded_at, recorded_by, origin,
    null::timestamptz(3) as superseded_at, null::uuid as superseded_by
  from tolling_contract
  union all
  select asset_key, contract_id, start_at, end_at, annual_price_eur_mw, recorded_at, recorded_by, origin,
    superseded_at, superseded_by
  from tolling_contract_superseded;
