-- A webhook delivers what its maker may still read: it stops when the maker, or the key it was made with, is gone. Each
-- delivery knows the permission that reading it takes.

alter table webhook
  add column made_by text constraint webhook_made_by_known check (made_by in ('USER', 'API_KEY')),
  add column maker_member_id uuid constraint webhook_maker_member references member on delete set null,
  add column maker_key_id uuid constraint webhook_maker_key references api_key on delete set null;
create index webhook_by_maker_member on webhook (maker_member_id) where maker_member_id is not null;
create index webhook_by_maker_key on webhook (maker_key_id) where maker_key_id is not null;

alter table webhook_delivery add column permission text;
update webhook_delivery d set permission = e.permission
from event e where e.organisation_id = d.organisation_id and e.sequence = d.sequence;
