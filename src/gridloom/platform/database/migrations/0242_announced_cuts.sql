-- Drift that was placed on the market is a trade which the platform computes.
alter table wholesale_trade drop constraint wholesale_trade_origin_known;
alter table wholesale_trade
  add constraint wholesale_trade_origin_known check (origin in ('OPERATOR', 'TRADER', 'COMPUTED'));

-- When an unavailability was recorded, or last grew, on the platform's clock: what is announced is the holder's to trade around.
alter table unavailability add column recorded_at timestamptz(3);
update unavailability set recorded_at = created_at;

-- The power of a cut period after what was announced in time alone; none where an earlier release has cut it.
alter table schedule_adjustment add column announced_kw double precision;
