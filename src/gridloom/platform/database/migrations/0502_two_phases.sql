-- On a distributed database a transaction that has changed rows of one worker is committed there first and on the
-- coordinator afterwards. If the coordinator ends in between, its own rows (events to come, answers kept for a
-- repetition, jobs) are lost while the worker's stay. A change of a table that the extension knows to lie on the
-- coordinator has both committed in two phases. This is that table; it stays empty. `gridloom distribute` makes it known,
-- and has the function called by triggers of the tables that lie on the coordinator; elsewhere nothing calls it.
create table two_phase_commit (marker int primary key);

create function commit_in_two_phases() returns trigger language plpgsql as $$
begin
  delete from two_phase_commit;
  return null;
end
$$;
