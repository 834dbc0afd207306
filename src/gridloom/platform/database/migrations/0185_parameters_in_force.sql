-- What a battery's parameters are at any time: of versions with the same valid_from the highest holds. Conditions on
-- asset_key and valid_from reach through to the index, so that a reader pays for what it asks for.
create view parameters_in_force as
  select distinct on (asset_key, valid_from) *
  from physical_asset_parameters
  order by asset_key, valid_from, version desc;
