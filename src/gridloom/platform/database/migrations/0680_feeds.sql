-- Whose a published price is, and when the platform saw it first. A price that is recorded anew after it was withdrawn
-- counts from then on (recorded_at), but was seen earlier.
alter table reference_price
  add column source text collate "C" not null default 'MANUAL',
  add column first_seen_at timestamptz(3);
alter table reference_price_superseded
  add column source text collate "C" not null default 'MANUAL',
  add column first_seen_at timestamptz(3);

create or replace view reference_price_version as
  select series, start_at, end_at, price, recorded_at, recorded_by, null::timestamptz(3) as superseded_at,
    null::uuid as superseded_by, source, first_seen_at
  from reference_price
  union all
  select series, start_at, end_at, price, recorded_at, recorded_by, superseded_at, superseded_by, source, first_seen_at
  from reference_price_superseded;

-- What the simulator of a sandbox has published before it was marked.
update reference_price set source = 'SIMULATOR'
where recorded_by in (select id from member where username ~ '^simulator-operator-[a-z0-9]{6}$');
update reference_price_superseded set source = 'SIMULATOR'
where recorded_by in (select id from member where username ~ '^simulator-operator-[a-z0-9]{6}$');

-- Whether a feed was switched on or off by hand; without a row the settings decide.
create table feed (
  name text collate "C" primary key,
  enabled boolean not null
);

-- How a feed stands with each of its topics. asked_at is on the platform's clock, not_before on the real one.
create table feed_topic (
  feed text collate "C" not null,
  topic text collate "C" not null,
  asked_at timestamptz(3),
  failures int not null default 0,
  fault text,
  is_failed boolean not null default false,
  is_late boolean not null default false,
  not_before timestamptz,
  primary key (feed, topic)
);

-- The days of which a source has published everything.
create table feed_day (
  feed text collate "C" not null,
  topic text collate "C" not null,
  day date not null,
  completed_at timestamptz(3) not null,
  primary key (feed, topic, day)
);
create index feed_day_by_day on feed_day (day);

-- What each source says, also where another one's value or one posted by hand stands.
create table feed_value (
  series text collate "C" not null,
  source text collate "C" not null,
  start_at timestamptz(3) not null,
  end_at timestamptz(3) not null,
  price numeric(14, 6) not null,
  first_seen_at timestamptz(3) not null,
  primary key (series, source, start_at),
  constraint feed_value_lasts check (start_at < end_at)
);

-- The last looks at each source, and the windows that are being filled.
create table feed_run (
  feed text collate "C" not null,
  id uuid not null,
  at timestamptz(3) not null,
  status text collate "C" not null,
  asked text not null,
  window_start timestamptz(3) not null,
  window_end timestamptz(3) not null,
  by_hand boolean not null,
  http_status int,
  rows_new int not null default 0,
  rows_changed int not null default 0,
  bytes bigint not null default 0,
  seconds float8 not null default 0,
  fault text,
  progress float8 not null default 1,
  answer_hash text,
  primary key (feed, id)
);
