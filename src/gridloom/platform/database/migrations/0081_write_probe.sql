-- The one row that readiness writes, to know whether the database takes changes.
create table write_probe (
  is_only boolean primary key default true constraint write_probe_is_one check (is_only),
  probed_at timestamptz not null
) with (fillfactor = 10);
