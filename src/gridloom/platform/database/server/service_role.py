"""The role that the service works as on an embedded server: it owns the database and is nothing else.

The server's first role is a superuser, which passes by every right. What the service must not do (change an issued
statement, an entry of the audit log) its own role has no right to.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from gridloom.platform.database.server.embedded import NAME, SERVICE_ROLE

_OWN: Final = """
do $$
declare
  command text;
begin
  if not exists (select from pg_roles where rolname = 'gridloom_service') then
    create role gridloom_service login;
  end if;
  if not exists (select from pg_database d join pg_roles r on r.oid = d.datdba
                 where d.datname = current_database() and r.rolname = 'gridloom_service') then
    execute format('alter database %I owner to gridloom_service', current_database());
  end if;
  for command in
    select format('alter %s %s owner to gridloom_service', one.kind, one.name) from (
      select c.oid, 'pg_class'::regclass as catalog, c.relowner as owner, c.oid::regclass::text as name,
        case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
          else 'table' end as kind
      from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
        and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid
                        and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i') and c.relkind = 'S')
      union all
      select p.oid, 'pg_proc'::regclass, p.proowner, p.oid::regprocedure::text, 'routine'
      from pg_proc p where p.pronamespace = 'public'::regnamespace
      union all
      select t.oid, 'pg_type'::regclass, t.typowner, t.oid::regtype::text, 'type'
      from pg_type t
      where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd', 'c', 'r')
        and not exists (select from pg_class c where c.oid = t.typrelid and c.relkind <> 'c')
    ) one
    where one.owner <> 'gridloom_service'::regrole
      and not exists (select from pg_depend d where d.classid = one.catalog and d.objid = one.oid and d.deptype = 'e')
  loop
    execute command;
  end loop;
end
$$
"""


async def give_to_service_role(superuser_dsn: str) -> str:
    """Make the role and have it own all there is, what an earlier release made included; the address to connect as
    it. Rights that a table's owner has given up stay given up."""
    connection = await asyncpg.connect(superuser_dsn, timeout=10)
    try:
        if not await connection.fetchval("select pg_is_in_recovery()"):
            await connection.execute(_OWN)
    finally:
        await connection.close()
    return service_dsn(superuser_dsn)


def service_dsn(superuser_dsn: str) -> str:
    return superuser_dsn.replace(f"&user={NAME}", f"&user={SERVICE_ROLE}")
