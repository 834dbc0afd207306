-- Goes up with every change of an asset's row, whatever is changed: whoever has read the asset writes on the condition
-- that nobody has changed, cut or judged its schedules since.
alter table virtual_asset add column revision bigint not null default 0;
