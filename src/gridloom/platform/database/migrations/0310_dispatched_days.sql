-- What a battery was dispatched for in each quarter-hour of a market day that is over. Dispatch of such a day never changes
-- again: a year of it is read from here, and not from every version that was planned on the way.
create table dispatched_day (
  asset_key int not null references asset,
  day date not null,
  power_kw double precision[] not null,
  primary key (asset_key, day)
);
