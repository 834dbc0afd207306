-- Each delivery run asks which virtual assets of its zone are to be cut, and what auctions and bids hold of its
-- batteries: few rows of many, mostly none.
create index virtual_asset_to_cut on virtual_asset (delivery_zone, first_misfit) where first_misfit is not null;
create index capacity_holding_of_others on capacity_holding (asset_key, end_period, first_period)
  where kind <> 'VIRTUAL_ASSET';
