-- For how many minutes of full power a block of balancing capacity keeps energy in the store, or room for it.
alter table virtual_block add column reserve_minutes double precision not null default 0;
update virtual_block set reserve_minutes = case market when 'FCR' then 15 else 60 end where market <> 'WHOLESALE';
