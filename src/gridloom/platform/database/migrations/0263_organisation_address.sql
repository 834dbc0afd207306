-- Where an organisation receives letters, as its statements show it; empty where it is not given.
alter table organisation add column address text not null default '';
