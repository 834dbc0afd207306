-- The logbook of an asset: entries are added and never touched again; a correction is an entry that names the one it corrects.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

create table logbook_entry (
  asset_key int not null references asset,
  sequence bigint generated always as identity,
  id uuid not null,
  title text not null,
  description text not null,
  type text not null,
  impact text not null,
  starts_at timestamptz(3) not null,
  ends_at timestamptz(3),
  tags text[] not null,
  author_id uuid,
  source text not null,
  corrects_id uuid,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (asset_key, id),
  constraint logbook_corrects_an_entry_of_the_asset foreign key (asset_key, corrects_id) references logbook_entry (asset_key, id),
  constraint logbook_impact_known check (impact in ('POSITIVE', 'NEUTRAL', 'NEGATIVE')),
  constraint logbook_source_known check (source in ('USER', 'SYSTEM')),
  constraint logbook_window_ordered check (ends_at is null or starts_at < ends_at)
);
create index logbook_by_start on logbook_entry (asset_key, starts_at desc, sequence desc);
create index logbook_corrections on logbook_entry (asset_key, corrects_id) where corrects_id is not null;
create index logbook_by_words on logbook_entry
  using gin (asset_key, tags, (lower(title || E'\n' || description)) gin_trgm_ops);

create function refuse_logbook_change() returns trigger language plpgsql as $$
begin
  raise exception 'the logbook is append-only: % refused', tg_op using errcode = 'restrict_violation';
end $$;
create trigger logbook_rows_stay before update or delete on logbook_entry
  for each row execute function refuse_logbook_change();
create trigger logbook_stays before truncate on logbook_entry
  for each statement execute function refuse_logbook_change();
-- Replication roles skip ordinary triggers; these always fire.
alter table logbook_entry enable always trigger logbook_rows_stay;
alter table logbook_entry enable always trigger logbook_stays;
