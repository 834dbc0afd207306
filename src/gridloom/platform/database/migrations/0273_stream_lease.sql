-- How many event streams of each organisation each worker process has open; what a process that died held is free again
-- when its lease ends. A crash of the database empties it until the workers renew.
create unlogged table stream_lease (
  organisation_id uuid not null,
  worker_id uuid not null,
  streams int not null,
  leased_until timestamptz not null,
  primary key (organisation_id, worker_id)
);

-- Whether a worker may have `own` streams of an organisation open; if so that is what it has from now on.
create function take_stream_place(asked uuid, worker uuid, own int, max_streams int, lease interval)
returns boolean language plpgsql volatile as $$
declare
  others bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(asked::text, 6131));
  delete from stream_lease where organisation_id = asked and leased_until < clock_timestamp();
  select coalesce(sum(streams), 0) into others from stream_lease where organisation_id = asked and worker_id <> worker;
  if others + own > max_streams then
    return false;
  end if;
  insert into stream_lease (organisation_id, worker_id, streams, leased_until)
  values (asked, worker, own, clock_timestamp() + lease)
  on conflict (organisation_id, worker_id) do update
    set streams = excluded.streams, leased_until = excluded.leased_until;
  return true;
end $$;
