-- Kinds of jobs are named by what they do. A worker leaves jobs of kinds that it does not know to others, so replicas of
-- the release before run what is theirs; what they put into the queue under a former name is renamed on its way in.
create function rename_job_kind(kind text) returns text language sql immutable as $$
  select case kind
    when 'delivery.look' then 'delivery.close-gates'
    when 'edge.forget' then 'edge.retention'
    when 'events.forget' then 'events.retention'
    when 'monitoring.fold' then 'monitoring.compact'
    when 'monitoring.forget' then 'monitoring.retention'
    when 'monitoring.look' then 'monitoring.schedule-compaction'
    when 'optimisation.forget' then 'optimisation.retention'
    when 'webhooks.forget-deliveries' then 'webhooks.retention'
  end
$$;

-- A run that is under way finds its job gone when it ends, and is undone: the job is run anew under its new name.
update job set kind = rename_job_kind(kind), begun_at = null, revision = revision + 1
where rename_job_kind(kind) is not null;

create function rename_job() returns trigger language plpgsql as $$
begin
  new.kind := rename_job_kind(new.kind);
  return new;
end
$$;

create trigger job_is_renamed before insert on job
  for each row when (new.kind in (
    'delivery.look', 'edge.forget', 'events.forget', 'monitoring.fold', 'monitoring.forget', 'monitoring.look',
    'optimisation.forget', 'webhooks.forget-deliveries'))
  execute function rename_job();
