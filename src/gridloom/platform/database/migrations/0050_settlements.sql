-- Settled facts, one table a kind, known again by their natural key; what a correction replaced stays beside them.
-- No foreign keys on the facts: settled_asset holds one, every batch locks its row there first, and a check per row would
-- cost a third of the ingest.

create table settled_asset (
  asset_key int primary key references asset,
  revision bigint not null default 1
);

create table wholesale_trade (
  asset_key int not null,
  trade_id text collate "C" not null,
  period timestamptz(3) not null,
  side text not null,
  volume_mwh numeric(16, 8) not null,
  price_eur_mwh numeric(12, 2) not null,
  market text not null,
  executed_at timestamptz(3),
  recorded_at timestamptz(3) not null,
  recorded_by uuid not null,
  primary key (asset_key, trade_id),
  constraint wholesale_trade_side_known check (side in ('BUY', 'SELL')),
  constraint wholesale_trade_volume_is_magnitude check (volume_mwh >= 0)
);
create index wholesale_trade_by_period on wholesale_trade (asset_key, period);

create table fcr_award (
  asset_key int not null,
  delivery_day date not null,
  product text collate "C" not null,
  capacity_mw numeric(16, 8) not null,
  price_eur_mw_h numeric(14, 6) not null,
  delivery_h numeric(10, 8) not null,
  recorded_at timestamptz(3) not null,
  recorded_by uuid not null,
  primary key (asset_key, delivery_day, product),
  constraint fcr_award_capacity_is_magnitude check (capacity_mw >= 0),
  constraint fcr_award_hours_in_block check (delivery_h between 0 and 5)
);

create table afrr_capacity_award (
  asset_key int not null,
  delivery_day date not null,
  product text collate "C" not null,
  capacity_mw numeric(16, 8) not null,
  price_eur_mw_h numeric(14, 6) not null,
  delivery_h numeric(10, 8) not null,
  recorded_at timestamptz(3) not null,
  recorded_by uuid not null,
  primary key (asset_key, delivery_day, product),
  constraint afrr_capacity_award_capacity_is_magnitude check (capacity_mw >= 0),
  constraint afrr_capacity_award_hours_in_block check (delivery_h between 0 and 5)
);

create table afrr_activation (
  asset_key int not null,
  period timestamptz(3) not null,
  direction text collate "C" not null,
  volume_mwh numeric(16, 8) not null,
  price_eur_mwh numeric(12, 2) not null,
  recorded_at timestamptz(3) not null,
  recorded_by uuid not null,
  primary key (asset_key, period, direction),
  constraint afrr_activation_direction_known check (direction in ('POS', 'NEG')),
  constraint afrr_activation_volume_is_magnitude check (volume_mwh >= 0)
);

create table net_off (
  asset_key int not null,
  period timestamptz(3) not null,
  volume_mwh numeric(16, 8) not null,
  recorded_at timestamptz(3) not null,
  recorded_by uuid not null,
  primary key (asset_key, period)
);

create table tolling_contract (
  asset_key int not null,
  contract_id text collate "C" not null,
  start_at timestamptz(3) not null,
  end_at timestamptz(3) not null,
  annual_price_eur_mw numeric(14, 2) not null,
  recorded_at timestamptz(3) not null,
  recorded_by uuid not null,
  primary key (asset_key, contract_id),
  constraint tolling_contract_lasts check (start_at < end_at)
);

-- What was known before: the row as it stood from recorded_at until superseded_at, and who replaced it.
create table wholesale_trade_superseded (
  like wholesale_trade, superseded_at timestamptz(3) not null, superseded_by uuid not null);
create index wholesale_trade_superseded_by_period on wholesale_trade_superseded (asset_key, period);
create table fcr_award_superseded (
  like fcr_award, superseded_at timestamptz(3) not null, superseded_by uuid not null);
create index fcr_award_superseded_by_day on fcr_award_superseded (asset_key, delivery_day);
create table afrr_capacity_award_superseded (
  like afrr_capacity_award, superseded_at timestamptz(3) not null, superseded_by uuid not null);
create index afrr_capacity_award_superseded_by_day on afrr_capacity_award_superseded (asset_key, delivery_day);
create table afrr_activation_superseded (
  like afrr_activation, superseded_at timestamptz(3) not null, superseded_by uuid not null);
create index afrr_activation_superseded_by_period on afrr_activation_superseded (asset_key, period);
create table net_off_superseded (
  like net_off, superseded_at timestamptz(3) not null, superseded_by uuid not null);
create index net_off_superseded_by_period on net_off_superseded (asset_key, period);
create table tolling_contract_superseded (
  like tolling_contract, superseded_at timestamptz(3) not null, superseded_by uuid not null);
create index tolling_contract_superseded_by_contract on tolling_contract_superseded (asset_key, contract_id);

-- Every version of every fact. As of a moment: recorded_at <= moment and coalesce(superseded_at, 'infinity') > moment.
create view wholesale_trade_version as
  select *, null::timestamptz(3) as superseded_at, null::uuid as superseded_by from wholesale_trade
  union all select * from wholesale_trade_superseded;
create view fcr_award_version as
  select *, null::timestamptz(3) as superseded_at, null::uuid as superseded_by from fcr_award
  union all select * from fcr_award_superseded;
create view afrr_capacity_award_version as
  select *, null::timestamptz(3) as superseded_at, null::uuid as superseded_by from afrr_capacity_award
  union all select * from afrr_capacity_award_superseded;
create view afrr_activation_version as
  select *, null::timestamptz(3) as superseded_at, null::uuid as superseded_by from afrr_activation
  union all select * from afrr_activation_superseded;
create view net_off_version as
  select *, null::timestamptz(3) as superseded_at, null::uuid as superseded_by from net_off
  union all select * from net_off_superseded;
create view tolling_contract_version as
  select *, null::timestamptz(3) as superseded_at, null::uuid as superseded_by from tolling_contract
  union all select * from tolling_contract_superseded;

-- What reports read: the sums of a market day, and beside them the same measures by period (wholesale, net_off, afrr_energy:
-- doubles, measure by measure, LZ4) and by block (fcr, afrr_capacity: six doubles a measure). Written in the transaction
-- that changes the facts, under the lock on settled_asset.
create table settled_day (
  asset_key int not null,
  day date not null,
  buy_volume_mwh float8 not null default 0,
  buy_cost_eur float8 not null default 0,
  sell_volume_mwh float8 not null default 0,
  sell_proceeds_eur float8 not null default 0,
  net_off_volume_mwh float8 not null default 0,
  fcr_revenue_eur float8 not null default 0,
  fcr_capacity_mw_h float8 not null default 0,
  fcr_price_eur_mw float8 not null default 0,
  fcr_delivery_h float8 not null default 0,
  afrr_capacity_revenue_eur float8 not null default 0,
  afrr_pos_volume_mwh float8 not null default 0,
  afrr_pos_revenue_eur float8 not null default 0,
  afrr_neg_volume_mwh float8 not null default 0,
  afrr_neg_revenue_eur float8 not null default 0,
  primary key (asset_key, day)
);

create table settled_periods (
  asset_key int not null,
  day date not null,
  wholesale bytea,
  net_off bytea,
  fcr bytea,
  afrr_capacity bytea,
  afrr_energy bytea,
  primary key (asset_key, day)
) with (toast_tuple_target = 8160);  -- a day's sheets lie with their row: a year is then read page after page
-- Compressed already.
alter table settled_periods
  alter wholesale set storage external,
  alter net_off set storage external,
  alter fcr set storage external,
  alter afrr_capacity set storage external,
  alter afrr_energy set storage external;
