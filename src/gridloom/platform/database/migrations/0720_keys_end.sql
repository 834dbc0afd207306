-- Keys that a replica of 0.1.0 made without an end while it ran beside 0.2.0: they end after a year, as all others do.
update api_key set expires_at = created_at + interval '365 days' where expires_at is null;
alter table api_key alter column expires_at set not null;
