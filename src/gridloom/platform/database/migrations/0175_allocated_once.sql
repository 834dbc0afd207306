-- An auction is allocated once, and a virtual asset comes from one auction. Said in a small table of its own: on a
-- distributed database a unique constraint must hold what its table is spread by.
create table auction_allocation (
  auction_id uuid not null,
  asset_key int not null constraint auction_allocation_of_asset references asset,
  constraint auction_allocated_once primary key (auction_id),
  constraint auction_allocation_of_one_auction unique (asset_key)
);
insert into auction_allocation select auction_id, asset_key from virtual_asset where auction_id is not null;

drop index virtual_asset_of_auction;
drop index auction_by_virtual_asset;
create index auction_by_virtual_asset on auction (virtual_asset_id) where virtual_asset_id is not null;
