-- Back-tests by stage: what each earned on each day (null where it was held or not asked for), and the cycles of
-- foresight, whose yearly budget goes on from job to job.
alter table backtest add column stages text[] not null default '{}';
alter table backtest_day
  add column fcr_eur float8,
  add column afrr_eur float8,
  add column day_ahead_eur float8,
  add column ida1_eur float8,
  add column ida2_eur float8,
  add column ida3_eur float8,
  add column foresight_discharged_kwh float8 not null default 0;
