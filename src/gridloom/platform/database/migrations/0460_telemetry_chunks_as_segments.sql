-- Days that releases up to 0.2 compacted, a row per signal, become segments of one signal each. Negative sequences put
-- them before all that was written since. The next compaction makes a block of each day.
lock table telemetry_chunk in share row exclusive mode;
insert into telemetry_segment (asset_key, day, sequence, points, body)
select asset_key, day, -1 - signal_id, points,
       -- Shared times, one signal; the number of points and the signal's id with their lowest byte first; then as before.
       '\x010100'::bytea
         || set_byte(set_byte(set_byte(set_byte('\x00000000', 0, points & 255), 1, (points >> 8) & 255),
                              2, (points >> 16) & 255), 3, (points >> 24) & 255)
         || set_byte(set_byte('\x0000', 0, signal_id & 255), 1, (signal_id >> 8) & 255)
         || body
from telemetry_chunk;
delete from telemetry_chunk;
-- Replicas of the release before still read the table while they are replaced, but can no longer move points into it.
alter table telemetry_chunk add constraint telemetry_chunk_closed check (false);
