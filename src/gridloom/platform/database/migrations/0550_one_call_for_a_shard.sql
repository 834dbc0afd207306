-- Functions that touch rows of one asset alone: a distributed database runs each on the worker that has them, by one
-- command whose plans that worker keeps, where statements over several tables would be planned anew each time.

-- The ratings, outages and firm holdings of a battery: lines of JSON with commas in between, as the statements of a
-- plain PostgreSQL make them for several batteries at once.
create function read_battery_capacity(
  battery int, from_instant timestamptz, to_instant timestamptz, from_period int, to_period int
) returns text language plpgsql stable as $$
declare
  ratings text;
  outages text;
  holdings text;
begin
  select string_agg(json_build_array('RATING', p.asset_key, p.version, json_build_array(p.valid_from,
    p.rated_charge_power_kw, p.rated_discharge_power_kw, p.energy_capacity_kwh, p.fcr_limit_ratio, p.charge_efficiency,
    p.discharge_efficiency, p.max_state_of_charge - p.min_state_of_charge))::text, ',') into ratings
  from physical_asset_parameters p where p.asset_key = battery and p.valid_from < to_instant;
  select string_agg(json_build_array('OUTAGE', u.asset_key, json_build_array(u.starts_at, u.ends_at, u.charge_power_kw,
    u.discharge_power_kw, u.energy_kwh))::text, ',') into outages
  from unavailability u where u.asset_key = battery and u.ends_at > from_instant and u.starts_at < to_instant;
  select string_agg(json_build_array('HOLDING', h.asset_key, json_build_array(h.kind, h.holder_id, h.first_period,
    h.end_period, h.charge_kw, h.discharge_kw, h.energy_kwh, h.is_firm),
    case when h.charge_efficiency is not null then json_build_array(h.charge_efficiency, h.discharge_efficiency) end,
    h.organisation_id, h.product)::text, ',') into holdings
  from capacity_holding h
  where h.asset_key = battery and h.end_period > from_period and h.first_period < to_period and h.is_firm;
  return concat_ws(',', ratings, outages, holdings);
end $$;

-- The columns of a virtual asset that can change, its blocks, these days of its schedules and its summaries, as JSON;
-- null if there is no such asset.
create function read_schedule_shard(of_asset int, of_organisation uuid, made_at timestamptz, of_days int[])
returns text language plpgsql stable as $$
declare
  v virtual_asset;
  blocks text;
  days bytea;
  spans bytea;
begin
  select * into v from virtual_asset a
  where a.asset_key = of_asset and a.organisation_id = of_organisation and a.created_at = made_at;
  if not found then
    return null;
  end if;
  select json_agg(json_build_array(b.id, b.lane, b.first_period, b.end_period, b.market, b.charge_kw, b.discharge_kw,
                                   b.reserve_minutes))::text into blocks
  from virtual_block b where b.asset_key = of_asset and b.until_version is null;
  select string_agg(array_send(array[s.day, s.lane]::float8[] || s.power_kw), ''::bytea) into days
  from virtual_schedule s where s.asset_key = of_asset and s.day = any(of_days);
  select string_agg(array_send(e.span::float8 || e.change_kwh || e.lowest_kwh || e.highest_kwh || e.exported_kwh),
                    ''::bytea) into spans
  from virtual_energy e where e.asset_key = of_asset;
  return json_build_object(
    'name', v.name, 'portfolio_id', v.portfolio_id, 'version', v.version, 'end_kwh', v.end_kwh,
    'first_misfit', v.first_misfit, 'judged_until', v.judged_until, 'first_activated', v.first_activated,
    'revision', v.revision, 'blocks', blocks, 'days', translate(encode(days, 'base64'), E'\n', ''),
    'spans', translate(encode(spans, 'base64'), E'\n', ''));
end $$;

-- What a change of consecutive periods writes, all of it on the asset's shard: a distributed database has it written by
-- one command to the worker. False, and nothing written, if the asset has another revision than the one that was read.
create function write_schedule_interval(
  of_asset int, known_version int, known_revision bigint, new_end_kwh float8, of_day int, of_lane int, first_slot int,
  last_slot int, powers text, of_span int, place int, new_change_kwh float8, new_lowest_kwh float8,
  new_highest_kwh float8, new_exported_kwh float8, start_period int, length int, new_kind text, at timestamptz,
  of_author_kind text, of_author uuid, of_block uuid
) returns boolean language plpgsql volatile as $$
begin
  update virtual_asset a set version = a.version + 1, end_kwh = new_end_kwh, revision = a.revision + 1
  where a.asset_key = of_asset and a.version = known_version and a.revision = known_revision;
  if not found then
    return false;
  end if;
  update virtual_schedule s set power_kw[first_slot : last_slot] = powers::float8[]
  where s.asset_key = of_asset and s.day = of_day and s.lane = of_lane;
  update virtual_energy e
  set change_kwh[place] = new_change_kwh, lowest_kwh[place] = new_lowest_kwh, highest_kwh[place] = new_highest_kwh,
      exported_kwh[place] = new_exported_kwh
  where e.asset_key = of_asset and e.span = of_span;
  insert into schedule_change (asset_key, version, lane, first_period, end_period, run_first, run_length, power_kw)
  values (of_asset, known_version + 1, of_lane, start_period, start_period + length, array[start_period],
          array[length], powers::float8[]);
  insert into schedule_version (asset_key, version, kind, accepted_at, author_kind, author_id, block_id)
  values (of_asset, known_version + 1, new_kind, at, of_author_kind, of_author, of_block);
  return true;
end $$;

-- As before, but once a transaction: each time costs the coordinator as much as a statement of its own.
create or replace function commit_in_two_phases() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('gridloom.two_phases', true), '') = '' then
    delete from two_phase_commit;
    perform set_config('gridloom.two_phases', 'on', true);
  end if;
  return null;
end
$$;
