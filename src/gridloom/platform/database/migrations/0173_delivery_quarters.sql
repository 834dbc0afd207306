-- What each zone's virtual assets were scheduled for in every quarter-hour, how much of it met its opposite, and what no
-- battery could serve: as versions of the periods that a run has changed, like the dispatch. Rows are only ever added.
create table delivery_quarters (
  delivery_zone text not null,
  version bigint not null,
  recorded_at timestamptz(3) not null,
  first_period int not null,
  end_period int not null,
  exported_kw double precision[] not null,
  imported_kw double precision[] not null,
  netted_kw double precision[] not null,
  unserved_kw double precision[] not null,            -- with the sign of the net: positive was to be exported
  primary key (delivery_zone, version),
  constraint delivery_quarters_whole check (
    cardinality(exported_kw) = end_period - first_period and cardinality(imported_kw) = end_period - first_period
    and cardinality(netted_kw) = end_period - first_period and cardinality(unserved_kw) = end_period - first_period)
);
create index delivery_quarters_by_end on delivery_quarters (delivery_zone, end_period, first_period);
