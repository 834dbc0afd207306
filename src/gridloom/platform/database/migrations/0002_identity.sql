-- Who may act: organisations, members, their credentials; what they reach: assets and grants; what they did: the audit log.
-- All but audit_log stay small: on a distributed database they are reference tables.

create table organisation (
  id uuid primary key,
  name text not null,
  kind text not null,
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  constraint organisation_kind_known check (kind in ('OPERATOR', 'PARTICIPANT')),
  constraint organisation_name_sized check (length(name) between 1 and 200)
);

create table member (
  id uuid primary key,
  organisation_id uuid not null references organisation,
  username text not null,
  display_name text not null,
  role text not null,
  password_hash text not null,
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  constraint member_role_known check (role in ('ADMIN', 'TRADER', 'ENGINEER', 'VIEWER')),
  constraint member_username_sized check (length(username) between 1 and 200),
  constraint member_display_name_sized check (length(display_name) between 1 and 200)
);
-- Upper and lower case never tell two people apart.
create unique index member_username_unique on member (lower(username));
create index member_by_organisation on member (organisation_id, id);

-- A session is one login and the family of refresh tokens that descend from it.
create table session (
  id uuid primary key,
  member_id uuid not null references member on delete cascade,
  address text,
  user_agent text,
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  ended_because text,
  constraint session_end_has_cause check ((ended_at is null) = (ended_because is null)),
  constraint session_cause_known check (ended_because in ('LOGOUT', 'PASSWORD_CHANGED', 'REFRESH_REUSED'))
);
create index session_by_member on session (member_id) where ended_at is null;
create index session_by_expiry on session (expires_at);

-- Only the hash is kept: a copy of the database logs nobody in.
create table refresh_token (
  token_hash bytea primary key,
  session_id uuid not null references session on delete cascade,
  issued_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null,
  spent_at timestamptz(3),
  constraint refresh_token_hash_sized check (length(token_hash) = 32)
);
create index refresh_token_by_session on refresh_token (session_id);

create table api_key (
  id uuid primary key,
  member_id uuid not null references member on delete cascade,
  name text not null,
  permissions text[] not null,
  secret_hash bytea not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3),
  constraint api_key_name_sized check (length(name) between 1 and 200),
  constraint api_key_secret_hash_sized check (length(secret_hash) = 32),
  constraint api_key_secret_unique unique (secret_hash)
);
create index api_key_by_member on api_key (member_id, id);

create table invitation (
  id uuid primary key,
  organisation_id uuid not null references organisation,
  email text not null,
  role text not null,
  token_hash bytea not null,
  invited_by uuid not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null,
  accepted_at timestamptz(3),
  revoked_at timestamptz(3),
  constraint invitation_role_known check (role in ('ADMIN', 'TRADER', 'ENGINEER', 'VIEWER')),
  constraint invitation_token_unique unique (token_hash),
  constraint invitation_token_hash_sized check (length(token_hash) = 32),
  constraint invitation_ends_one_way check (accepted_at is null or revoked_at is null)
);
create index invitation_by_organisation on invitation (organisation_id, id);

-- The newest key whose time has come signs; every key verifies until the last token it signed has expired.
create table signing_key (
  kid text primary key,
  private_seed bytea not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  signs_from timestamptz(3) not null,
  verifies_until timestamptz(3),
  constraint signing_key_seed_sized check (length(private_seed) = 32)
);

-- Failed logins as a leaking bucket per user name and per address, shared by all replicas. Subjects are hashed: what people
-- type into a user name field is now and then their password.
create table login_throttle (
  subject bytea primary key,
  level double precision not null,
  measured_at timestamptz not null,
  empty_at timestamptz not null,
  constraint login_throttle_level_sane check (level >= 0)
);
create index login_throttle_by_emptiness on login_throttle (empty_at);

-- One row per physical or virtual asset: the public id, the small key that every other table carries, and the owner.
create table asset (
  key int generated always as identity primary key,
  id uuid not null,
  kind text not null,
  organisation_id uuid not null references organisation,
  created_at timestamptz(3) not null default clock_timestamp(),
  constraint asset_id_unique unique (id),
  constraint asset_kind_known check (kind in ('PHYSICAL', 'VIRTUAL'))
);
create index asset_by_organisation on asset (organisation_id, kind, id);
create index asset_by_registration on asset (organisation_id, kind, key);

-- What an organisation that does not own an asset may do with it.
create table asset_grant (
  asset_key int not null references asset,
  organisation_id uuid not null references organisation,
  permissions text[] not null,
  granted_by uuid not null,
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  primary key (asset_key, organisation_id),
  constraint asset_grant_gives_something check (cardinality(permissions) > 0)
);
create index asset_grant_by_organisation on asset_grant (organisation_id, asset_key);

-- Who did what to which resource, when, from where. organisation_id is the actor's (the nil UUID for somebody unknown);
-- subject_organisation_id is the other organisation the path names, which may read the entry as well.
create table audit_log (
  organisation_id uuid not null,
  sequence bigint generated always as identity,
  id uuid not null,
  occurred_at timestamptz(3) not null default clock_timestamp(),
  subject_organisation_id uuid,
  actor_id uuid,
  actor_kind text not null,
  actor_name text,
  action text not null,
  method text not null,
  resource text not null,
  status smallint not null,
  address text,
  request_id text,
  details jsonb,
  primary key (organisation_id, sequence),
  constraint audit_log_actor_kind_known check (actor_kind in ('USER', 'API_KEY', 'ANONYMOUS', 'SYSTEM'))
);
create index audit_log_by_sequence on audit_log (sequence);
create index audit_log_by_subject_organisation on audit_log (subject_organisation_id, sequence)
  where subject_organisation_id is not null;
create index audit_log_by_actor on audit_log (actor_id, sequence);
create index audit_log_by_time on audit_log (occurred_at);

create function refuse_audit_log_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only: % refused', tg_op using errcode = 'restrict_violation';
end $$;
create trigger audit_log_rows_stay before update or delete on audit_log
  for each row execute function refuse_audit_log_change();
create trigger audit_log_stays before truncate on audit_log
  for each statement execute function refuse_audit_log_change();
-- Replication roles skip ordinary triggers; these always fire.
alter table audit_log enable always trigger audit_log_rows_stay;
alter table audit_log enable always trigger audit_log_stays;
