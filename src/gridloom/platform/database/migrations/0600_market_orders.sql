-- The intraday auction in which a trade was made, where that is known.
alter table wholesale_trade add column stage text;
alter table wholesale_trade add constraint wholesale_trade_stage_known check (stage in ('IDA1', 'IDA2', 'IDA3'));
alter table wholesale_trade_superseded add column stage text;
drop view wholesale_trade_version;
create view wholesale_trade_version as
  select asset_key, trade_id, period, side, volume_mwh, price_eur_mwh, market, executed_at, stage, recorded_at,
    recorded_by, origin, null::timestamptz(3) as superseded_at, null::uuid as superseded_by
  from wholesale_trade
  union all
  select asset_key, trade_id, period, side, volume_mwh, price_eur_mwh, market, executed_at, stage, recorded_at,
    recorded_by, origin, superseded_at, superseded_by
  from wholesale_trade_superseded;

-- What its holder wants done on a virtual asset at a stage of a delivery day, and what came of it. Powers are those of
-- the periods from first_period on: the position when it was placed, the one it asks for, and what was scheduled then.
create table market_order (
  id uuid primary key,
  asset_key int not null,
  virtual_asset_id uuid not null,
  organisation_id uuid not null,
  delivery_zone text not null,
  stage text not null constraint market_order_stage_known
    check (stage in ('FCR', 'AFRR', 'DAY_AHEAD', 'IDA1', 'IDA2', 'IDA3')),
  delivery_day date not null,
  gate_at timestamptz(3) not null,
  delivery_at timestamptz(3) not null,
  status text not null constraint market_order_status_known
    check (status in ('STANDING', 'EXECUTED', 'PARTLY_EXECUTED', 'NOT_EXECUTED', 'OVERDUE', 'CANCELLED')),
  placed_at timestamptz(3) not null,
  author_kind text not null,
  author_id uuid,
  first_period int not null,
  before_kw double precision[] not null,
  position_kw double precision[] not null,
  scheduled_kw double precision[] not null,
  reserves text not null,
  minimum_surplus_eur numeric not null,
  at_any_price boolean not null,
  fee_eur_mwh numeric not null,
  applies boolean not null,
  result text,
  applied boolean,
  problem text,
  version int not null default 1
);
-- One order of an asset waits at a stage of a day.
create unique index market_order_waiting on market_order (asset_key, delivery_day, stage)
  where status in ('STANDING', 'OVERDUE');
create index market_order_waiting_by_day on market_order (delivery_day) where status in ('STANDING', 'OVERDUE');
create index market_order_of_organisation on market_order (organisation_id, delivery_day, id);
create index market_order_of_asset on market_order (asset_key, delivery_day);

-- The reserves that waiting orders hold back of an asset's capacity, as JSON; null for none.
alter table virtual_asset add column reserve_holds text;
