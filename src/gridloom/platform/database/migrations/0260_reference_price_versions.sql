-- Published prices keep what a correction replaced, as settled facts do: the row as it stood from recorded_at until
-- superseded_at. Reference tables, as the prices are.
create table reference_price_superseded (
  like reference_price, superseded_at timestamptz(3) not null, superseded_by uuid not null);
create index reference_price_superseded_by_start on reference_price_superseded (series, start_at);

create view reference_price_version as
  select *, null::timestamptz(3) as superseded_at, null::uuid as superseded_by from reference_price
  union all select * from reference_price_superseded;

-- From when on each kind of fact keeps its versions, where it had facts before it did; before that moment no answer as of
-- it can be given.
create table version_start (
  what text collate "C" primary key,
  since timestamptz(3) not null
);
insert into version_start (what, since)
select 'reference_price', date_trunc('milliseconds', platform_now()) + interval '1 millisecond'
where exists (select from reference_price);
