-- Only a distributed database calls these functions.

-- Add events to one organisation's order: all of them by one command to the worker that has its shard.
create function append_events(of_organisation uuid, events jsonb, at timestamptz) returns boolean
language plpgsql volatile as $$
declare
  one event;
begin
  for one in select * from jsonb_populate_recordset(null::event, events) loop
    insert into event (organisation_id, sequence, id, type, time, origin_id, subject, permission, asset_key, data,
                       sequenced_at)
    values (of_organisation, one.sequence, one.id, one.type, one.time, one.origin_id, one.subject, one.permission,
            one.asset_key, one.data, at);
  end loop;
  return true;
end $$;

-- As sequence_events, by steps that a distributed database plans once: what decides on the readers is asked of one table
-- at a time for all events together, places are given by a statement of the coordinator's own tables, and each reader's
-- events go out together. More than `few` at once go the common way, which costs the same for any number of readers.
create or replace function sequence_few_events(most int, operator_types text[], few int) returns int
language plpgsql volatile as $$
declare
  taken_ids bigint[];
  asset_keys int[];
  has_operator_type boolean;
  grants jsonb;
  virtual_keys int[];
  operators uuid[];
  reader uuid;
  last_place bigint;
  events jsonb;
  heads text := '';
  at timestamptz;
begin
  perform pg_advisory_xact_lock(hashtextextended('sequence_events', 6127));
  select array_agg(seen.id), array_agg(distinct seen.asset_key), bool_or(seen.type = any(operator_types))
  into taken_ids, asset_keys, has_operator_type
  from (select o.id, o.asset_key, o.type from event_outbox o order by o.id limit few + 1) as seen;
  if taken_ids is null then
    return 0;
  end if;
  if cardinality(taken_ids) > few then
    return sequence_events(most, operator_types);
  end if;
  if asset_keys <> '{null}' then
    select jsonb_agg(jsonb_build_array(g.asset_key, g.organisation_id, g.permissions)) into grants
    from asset_grant g where g.asset_key = any(asset_keys);
    select array_agg(a.key) into virtual_keys from asset a where a.key = any(asset_keys) and a.kind = 'VIRTUAL';
  end if;
  if has_operator_type or virtual_keys is not null then
    select array_agg(o.id) into operators from organisation o where o.kind = 'OPERATOR';
  end if;
  at := clock_timestamp();
  for reader, last_place, events in
    with taken as (
      delete from event_outbox o where o.id = any(taken_ids) returning o.*
    ), read_by as (
      select t.id, t.organisation_id as reader_id from taken t
      union
      select t.id, (g ->> 1)::uuid from taken t join jsonb_array_elements(grants) g on (g ->> 0)::int = t.asset_key
      where g -> 2 ? t.permission
      union
      select t.id, o from taken t, unnest(operators) o where t.type = any(operator_types) or t.asset_key = any(virtual_keys)
    ), head as (
      insert into event_head as h (organisation_id, last_sequence)
      select r.reader_id, count(*) from read_by r group by r.reader_id order by r.reader_id
      on conflict (organisation_id) do update set last_sequence = h.last_sequence + excluded.last_sequence
      returning h.organisation_id, h.last_sequence
    ), placed as (
      select r.reader_id, h.last_sequence, t.id,
        h.last_sequence + 1 - row_number() over (partition by r.reader_id order by t.id desc) as place
      from taken t join read_by r on r.id = t.id join head h on h.organisation_id = r.reader_id
    )
    select p.reader_id, p.last_sequence, jsonb_agg(jsonb_build_object(
      'sequence', p.place, 'id', t.event_id, 'type', t.type, 'time', t.time, 'origin_id', t.organisation_id,
      'subject', t.subject, 'permission', t.permission, 'asset_key', t.asset_key, 'data', t.data))
    from placed p join taken t on t.id = p.id group by p.reader_id, p.last_sequence order by p.reader_id
  loop
    perform is_done from append_events(reader, events, at) is_done;
    heads := heads || ' ' || reader || ':' || last_place;
  end loop;
  perform pg_notify('gridloom_event', case when length(heads) < 7900 then ltrim(heads) else '*' end);
  return cardinality(taken_ids);
end $$;
