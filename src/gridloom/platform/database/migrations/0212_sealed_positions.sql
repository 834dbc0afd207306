-- With this key a place in the database's log is sealed before callers get to see it: how much others write between two of
-- a caller's own changes is nobody's business, least of all while bids are secret. The same for all replicas of the service.

alter table environment add column position_key bytea not null
  default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
