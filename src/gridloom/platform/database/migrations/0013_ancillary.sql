-- Offers to the balancing markets, one row per bid ever made, and the results of their tenders.

create table ancillary_bid (
  asset_key int not null references asset,
  id uuid not null,
  sequence bigint generated always as identity,
  delivery_day date not null,
  product text collate "C" not null,
  delivery_start timestamptz(3) not null,
  delivery_end timestamptz(3) not null,
  capacity_price_eur numeric(9, 2) not null,
  offered_capacity_kw double precision not null,
  energy_price_eur numeric(9, 2),
  status text not null default 'OFFERED',
  placed_at timestamptz(3) not null,
  placed_by uuid not null,
  primary key (asset_key, id),
  constraint ancillary_bid_status_known check (status in ('OFFERED', 'ACCEPTED', 'REJECTED', 'WITHDRAWN', 'REPLACED')),
  constraint ancillary_bid_capacity_sane check (offered_capacity_kw >= 1000)
);
-- One bid per asset and product stands, whatever races: until it is withdrawn or replaced.
create unique index ancillary_bid_standing on ancillary_bid (asset_key, delivery_day, product)
  where status in ('OFFERED', 'ACCEPTED', 'REJECTED');
-- Which bids wait for a result is answered from this index alone. It stays small: a bid leaves it with its result.
create unique index ancillary_bid_waiting on ancillary_bid (asset_key, delivery_day, product)
  include (id, capacity_price_eur, offered_capacity_kw, energy_price_eur)
  where status = 'OFFERED';
create index ancillary_bid_by_product on ancillary_bid (asset_key, delivery_day, product, sequence);
-- What still has to be delivered, for comparing it with what can be.
create index ancillary_bid_to_deliver on ancillary_bid (asset_key, delivery_end) where status in ('OFFERED', 'ACCEPTED');

-- Results are only ever added: a correction is the next revision. An aFRR energy result may name the accepted capacity bid
-- that stands for the quarter-hour, hence the product in the key.
create table ancillary_result (
  asset_key int not null,
  bid_id uuid not null,
  delivery_day date not null,
  product text collate "C" not null,
  revision int not null,
  accepted boolean not null,
  accepted_capacity_kw double precision not null,
  settlement_price_eur numeric(9, 2),
  recorded_at timestamptz(3) not null,
  recorded_by uuid not null,
  primary key (asset_key, bid_id, delivery_day, product, revision),
  foreign key (asset_key, bid_id) references ancillary_bid (asset_key, id)
);
create index ancillary_result_by_product on ancillary_result (asset_key, delivery_day, product, bid_id, revision);
