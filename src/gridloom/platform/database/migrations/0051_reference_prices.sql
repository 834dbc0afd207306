-- Prices that exchanges and transmission system operators publish. Small: on a distributed database a reference table.
create table reference_price (
  series text collate "C" not null,
  start_at timestamptz(3) not null,
  end_at timestamptz(3) not null,
  price numeric(14, 6) not null,
  recorded_at timestamptz(3) not null,
  recorded_by uuid not null,
  primary key (series, start_at),
  constraint reference_price_lasts check (start_at < end_at)
);
