-- A trade's row is looked for by its asset and period, or by its whole key. One index in this order serves both, so that
-- a row needs one entry less.
alter table wholesale_trade drop constraint wholesale_trade_pkey;
alter table wholesale_trade add constraint wholesale_trade_pkey primary key (asset_key, period, trade_id, side);
drop index wholesale_trade_by_period;
