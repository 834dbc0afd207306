-- Prices of a window are found by their start, from 31 days before it on; the few that hold for longer by these.
create index reference_price_long on reference_price (series, start_at) where end_at - start_at > interval '31 days';
create index reference_price_superseded_long on reference_price_superseded (series, start_at)
  where end_at - start_at > interval '31 days';
