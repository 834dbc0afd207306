-- What the operator of a sandbox has fail on purpose: the batteries of the simulated world, from when until when.
alter table sandbox_simulator add column failures jsonb not null default '[]'::jsonb;
