-- Events: what a transaction says has happened (event_outbox), and the one gap-free order in which each organisation reads
-- it (event). The way from one to the other is sequence_events.

-- Writers only insert here, and never meet: no counter, no lock, no notification in their transaction.
create table event_outbox (
  id              bigint generated always as identity primary key,
  event_id        uuid not null,
  type            text not null,
  time            timestamptz(3) not null,
  organisation_id uuid not null,
  subject         text not null,
  permission      text not null,
  asset_key       int,
  data            jsonb not null
);
alter table event_outbox set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

-- One row per reader: the organisation that may read the event, at its place in that organisation's order.
create table event (
  organisation_id uuid not null,
  sequence        bigint not null,
  id              uuid not null,
  type            text not null,
  time            timestamptz(3) not null,
  origin_id       uuid not null,                     -- the organisation it happened to
  subject         text not null,
  permission      text not null,
  asset_key       int,
  data            jsonb not null,
  sequenced_at    timestamptz(3) not null default clock_timestamp(),
  constraint event_pkey primary key (organisation_id, sequence)
);
create index event_by_age on event using brin (sequenced_at);   -- rows come in this order

create table event_head (
  organisation_id uuid not null,
  last_sequence   bigint not null,
  constraint event_head_pkey primary key (organisation_id)
);

-- Whether an organisation in whose order an event stands may still read it: a grant can have been taken back since.
create function event_is_open(reader_id uuid, origin_id uuid, event_asset_key int, event_permission text)
  returns boolean language sql stable parallel safe
begin atomic
  select reader_id = origin_id or event_asset_key is null
      or exists (select from asset_grant g where g.asset_key = event_asset_key and g.organisation_id = reader_id
                   and event_permission = any(g.permissions))
      or exists (select from asset a, organisation o where a.key = event_asset_key and a.kind = 'VIRTUAL'
                   and o.id = reader_id and o.kind = 'OPERATOR');
end;

-- Gives committed events their places and tells the listeners; answers how many it took. One caller at a time: the next
-- waits, and then sees all that was committed before it got the lock.
--
-- A transaction that began after another had committed finds the other's rows visible and with smaller ids, so no
-- organisation ever reads an effect before its cause.
--
-- Readers of an event are those who could ask for the same by a request: the organisation it happened to, those with a
-- grant that covers it, and the platform's operators for virtual assets and for the types that the caller names.
create function sequence_events(most int, operator_types text[]) returns int language plpgsql volatile as $$
declare
  taken_count int;
  heads text;
begin
  perform pg_advisory_xact_lock(hashtextextended('sequence_events', 6127));
  with taken as (
    delete from event_outbox where id = any(array(select id from event_outbox order by id limit most)) returning *
  ), reader as (
    select id, organisation_id as reader_id from taken
    union
    select taken.id, asset_grant.organisation_id from taken join asset_grant using (asset_key)
    where taken.permission = any(asset_grant.permissions)
    union
    select taken.id, organisation.id from taken left join asset on asset.key = taken.asset_key, organisation
    where organisation.kind = 'OPERATOR' and (taken.type = any(operator_types) or asset.kind = 'VIRTUAL')
  ), placed as (
    select reader_id, taken.*, row_number() over (partition by reader_id order by taken.id) as place,
           count(*) over (partition by reader_id) as places
    from taken join reader using (id)
  ), head as (
    insert into event_head (organisation_id, last_sequence)
    select reader_id, count(*) from reader group by reader_id order by reader_id
    on conflict (organisation_id) do update set last_sequence = event_head.last_sequence + excluded.last_sequence
    returning organisation_id, last_sequence
  ), kept as (
    insert into event (organisation_id, sequence, id, type, time, origin_id, subject, permission, asset_key, data)
    select reader_id, head.last_sequence - places + place, event_id, type, time, placed.organisation_id, subject, permission,
           asset_key, data
    from placed join head on head.organisation_id = reader_id
    returning 1
  )
  select (select count(*) from taken),
         (select string_agg(organisation_id || ':' || last_sequence, ' ') from head)
  into taken_count, heads;
  if taken_count > 0 then
    perform pg_notify('gridloom_event', case when length(heads) < 7900 then heads else '*' end);
  end if;
  return taken_count;
end $$;
