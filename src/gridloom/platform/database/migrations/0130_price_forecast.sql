-- Forecasts of day-ahead prices as they were published: small, and read by everybody.
create table price_forecast (
  series text collate "C" not null,
  delivery_day date not null,
  published_at timestamptz(3) not null,
  known_until date not null,
  p10_eur_mwh float8[] not null,
  p50_eur_mwh float8[] not null,
  p90_eur_mwh float8[] not null,
  primary key (series, delivery_day)
);
