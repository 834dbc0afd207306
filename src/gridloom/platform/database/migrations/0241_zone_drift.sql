-- The drift of a zone's batteries at noon of each market day, and what of it is placed until the next noon.
create table delivery_zone_drift (
  delivery_zone text not null,
  day date not null,
  drift_kwh double precision not null,
  placed_kwh double precision not null,
  primary key (delivery_zone, day)
);
