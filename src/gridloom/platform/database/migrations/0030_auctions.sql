-- Auctions of virtual batteries. Everything of one auction is found by its id; its bids are its distribution key's.

create table auction (
  id uuid primary key,
  opens_at timestamptz(3) not null,
  closes_at timestamptz(3) not null,
  item_id uuid not null,
  delivery_start timestamptz(3) not null,
  delivery_end timestamptz(3) not null,
  delivery_zone text not null,
  rated_charge_power_kw float8 not null,
  rated_discharge_power_kw float8 not null,
  energy_capacity_kwh float8 not null,
  charge_efficiency float8 not null,
  discharge_efficiency float8 not null,
  daily_cycle_limit float8,
  initial_soc float8 not null,
  last_soc_target float8 not null,
  final_soc_tolerance float8 not null,
  hurdle_price_eur numeric(10, 2),
  state text not null default 'SCHEDULED',
  outcome text,
  outcome_detail text,
  winning_bid_id uuid,
  winner_id uuid,
  winning_price_eur numeric(10, 2),
  virtual_asset_id uuid,
  cleared_at timestamptz(3),
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  constraint auction_open_before_close check (opens_at < closes_at),
  constraint auction_delivery_is_a_window check (delivery_start < delivery_end),
  constraint auction_state_known check (state in ('SCHEDULED', 'CLEARED', 'CANCELLED')),
  constraint auction_outcome_known check (outcome in ('ALLOCATED', 'NO_VALID_BID', 'CAPACITY_GONE')),
  constraint auction_cleared_has_outcome check ((state = 'CLEARED') = (outcome is not null)),
  constraint auction_allocated_has_winner check (
    (outcome is not distinct from 'ALLOCATED')
    = (winning_bid_id is not null and winner_id is not null and virtual_asset_id is not null))
);
create index auction_by_opening on auction (opens_at, id);
create unique index auction_by_virtual_asset on auction (virtual_asset_id) where virtual_asset_id is not null;

-- The auction's own lock, and the place of its last bid: a narrow row, for it changes with every bid.
create table auction_order (
  auction_id uuid primary key references auction on delete cascade,
  last_position bigint not null default 0
) with (fillfactor = 20);

create table auction_participant (
  auction_id uuid not null references auction on delete cascade,
  organisation_id uuid not null references organisation,
  bids_made int not null default 0,
  primary key (auction_id, organisation_id)
) with (fillfactor = 50);
create index auction_participant_by_organisation on auction_participant (organisation_id, auction_id);

create table auction_backing (
  auction_id uuid not null references auction on delete cascade,
  physical_asset_id uuid not null,
  share float8 not null,
  primary key (auction_id, physical_asset_id),
  constraint auction_backing_share_is_a_part check (share > 0 and share <= 1)
);

-- `position` is the one order of all bids; `sequence` counts an organisation's own, which is all it may see.
create table auction_bid (
  auction_id uuid not null references auction on delete cascade,
  position bigint not null,
  id uuid not null,
  organisation_id uuid not null,
  sequence int not null,
  price_eur numeric(10, 2) not null,
  placed_at timestamptz(3) not null,
  placed_by uuid not null,
  withdrawn_at timestamptz(3),
  primary key (auction_id, position),
  constraint auction_bid_has_a_price check (price_eur >= 0.01 and price_eur <= 10000000)
);
create unique index auction_bid_by_id on auction_bid (auction_id, id);
create unique index auction_bid_by_organisation on auction_bid (auction_id, organisation_id, position desc);

-- A bid in one round trip: the auction's lock first, then the clock, then the place in the order.
create function place_auction_bid(
  asked_auction uuid, bidder uuid, author uuid, bid uuid, price numeric,
  out verdict text, out placed_at timestamptz, out sequence int, out opens_at timestamptz, out closes_at timestamptz
) language plpgsql as $$
declare
  place bigint;
  auction_state text;
begin
  perform from auction_participant p where p.auction_id = asked_auction and p.organisation_id = bidder;
  if not found then
    perform from auction a where a.id = asked_auction;
    verdict := case when found then 'NOT_INVITED' else 'UNKNOWN' end;
    return;
  end if;
  select o.last_position + 1 into place from auction_order o where o.auction_id = asked_auction for update;
  select a.state, a.opens_at, a.closes_at into auction_state, opens_at, closes_at from auction a where a.id = asked_auction;
  placed_at := platform_now();
  verdict := case
    when auction_state = 'CANCELLED' then 'CANCELLED'
    when placed_at < opens_at then 'NOT_STARTED'
    when placed_at >= closes_at or auction_state <> 'SCHEDULED' then 'CLOSED'
    else 'PLACED'
  end;
  if verdict <> 'PLACED' then
    return;
  end if;
  -- A moment before the end stays before the end when it is rounded to milliseconds.
  placed_at := date_trunc('milliseconds', placed_at);
  update auction_participant p set bids_made = bids_made + 1
    where p.auction_id = asked_auction and p.organisation_id = bidder returning p.bids_made into sequence;
  if not found then  -- uninvited while it waited for the lock
    verdict := 'NOT_INVITED';
    return;
  end if;
  update auction_order o set last_position = place where o.auction_id = asked_auction;
  insert into auction_bid (auction_id, position, id, organisation_id, sequence, price_eur, placed_at, placed_by)
  values (asked_auction, place, bid, bidder, sequence, price, placed_at, author);
end $$;
