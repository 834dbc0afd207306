-- Open months may reach further back than what was assessed when failures came to be settled: the periods before it.
insert into job (kind, key, clock, due)
select 'delivery.assess-failures', z.delivery_zone || '/' || f.first_period || '/' || z.settled_until - 96 * 62,
       'platform', platform_now()
from delivery_zone z cross join failures_settled f
where z.settled_until is not null and z.settled_until - 96 * 62 > f.first_period
on conflict (kind, key) do nothing;
