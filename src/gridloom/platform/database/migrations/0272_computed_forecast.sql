-- Forecasts that were computed for a request, stored so that they are computed once; deleted when a price that one of them
-- rests on changes.
create table computed_forecast (
  series text collate "C" not null,
  delivery_day date not null,
  known_until date not null,
  p10_eur_mwh float8[] not null,
  p50_eur_mwh float8[] not null,
  p90_eur_mwh float8[] not null,
  primary key (series, delivery_day)
);
