-- Append a segment to an asset's telemetry, if its head is as it was known: a distributed database has it done by one
-- command to the worker. A plain PostgreSQL is sent one statement that does the same.
create function append_telemetry(
  of_asset int, known_born uuid, known_sequence bigint, known_signal_count int, known_latest bytea, new_latest bytea,
  of_day date, point_count int, new_body bytea, out is_appended boolean, out watched_until timestamptz
) language plpgsql volatile as $$
begin
  update telemetry_head h set sequence = known_sequence + 1, latest = new_latest
  where h.asset_key = of_asset and h.born = known_born and h.sequence = known_sequence
    and h.signal_count = known_signal_count and h.latest = known_latest
  returning h.watched_until into watched_until;
  is_appended := found;
  if is_appended then
    insert into telemetry_segment (asset_key, sequence, day, points, body)
    values (of_asset, known_sequence + 1, of_day, point_count, new_body);
  end if;
end $$;
