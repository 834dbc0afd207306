-- Who reads an event is asked of one table at a time: a distributed database keeps the plan of such a read, and plans a
-- join or a sub-query anew each time. Only a distributed database calls this function.
create or replace function sequence_few_events(most int, operator_types text[], few int) returns int
language plpgsql volatile as $$
declare
  outgoing event_outbox;
  sequenced_ids bigint[] := '{}';
  waiting int;
  readers uuid[];
  operators uuid[];
  asset_kind text;
  reader uuid;
  place bigint;
  heads text := '';
begin
  perform pg_advisory_xact_lock(hashtextextended('sequence_events', 6127));
  select count(*) into waiting from (select from event_outbox limit few + 1) as seen;
  if waiting = 0 then
    return 0;
  end if;
  if waiting > few then
    return sequence_events(most, operator_types);
  end if;
  for outgoing in select * from event_outbox order by id loop
    readers := null;
    operators := null;
    asset_kind := null;
    if outgoing.asset_key is not null then
      select array_agg(g.organisation_id) into readers from asset_grant g
      where g.asset_key = outgoing.asset_key and outgoing.permission = any(g.permissions);
      select a.kind into asset_kind from asset a where a.key = outgoing.asset_key;
    end if;
    if asset_kind = 'VIRTUAL' or outgoing.type = any(operator_types) then
      select array_agg(o.id) into operators from organisation o where o.kind = 'OPERATOR';
    end if;
    for reader in select distinct r from unnest(readers || operators || outgoing.organisation_id) r order by r loop
      insert into event_head as h (organisation_id, last_sequence) values (reader, 1)
      on conflict (organisation_id) do update set last_sequence = h.last_sequence + 1
      returning last_sequence into place;
      insert into event (organisation_id, sequence, id, type, time, origin_id, subject, permission, asset_key, data)
      values (reader, place, outgoing.event_id, outgoing.type, outgoing.time, outgoing.organisation_id,
              outgoing.subject, outgoing.permission, outgoing.asset_key, outgoing.data);
      heads := heads || ' ' || reader || ':' || place;
    end loop;
    sequenced_ids := sequenced_ids || outgoing.id;
  end loop;
  delete from event_outbox where id = any(sequenced_ids);
  perform pg_notify('gridloom_event', case when length(heads) < 7900 then ltrim(heads) else '*' end);
  return cardinality(sequenced_ids);
end $$;
