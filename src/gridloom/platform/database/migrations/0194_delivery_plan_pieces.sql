-- The plan that stands in each zone and what its batteries could do when it was made, as pieces: arrays by name, long
-- ones cut into blocks of rows, so that a change writes only the pieces that it touches. `delivery_zone.plan` holds
-- plans that were made before; the next run lays its own over them.
create table delivery_plan_piece (
  delivery_zone text not null,
  name text not null,
  block int not null,
  body bytea not null,
  primary key (delivery_zone, name, block)
);
alter table delivery_plan_piece alter body set storage external;
