-- Single sign-on: an organisation's OpenID Connect provider, whom it vouches for, and sign-ins under way.

create table identity_provider (
  organisation_id uuid primary key references organisation,
  issuer text not null,
  client_id text not null,
  sealed_client_secret bytea not null,
  domains text[] not null,
  required boolean not null default false,
  role_claim text,
  default_role text,
  version int not null default 1,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  constraint identity_provider_domains_named check (cardinality(domains) > 0),
  constraint identity_provider_role_known check (default_role in ('ADMIN', 'TRADER', 'ENGINEER', 'VIEWER'))
);

-- A subject of an issuer is one member for good, and a member one subject of it.
create table external_identity (
  organisation_id uuid not null references organisation,
  issuer text not null,
  subject text not null,
  member_id uuid not null references member on delete cascade,
  bound_at timestamptz(3) not null default clock_timestamp(),
  primary key (organisation_id, issuer, subject),
  constraint external_identity_once unique (organisation_id, issuer, member_id)
);
create index external_identity_by_member on external_identity (member_id);

-- browser_hash: the cookie of the browser that began it. client_challenge: of a command line that waits at client_redirect.
create table single_sign_on_attempt (
  state_hash bytea primary key,
  organisation_id uuid not null references organisation,
  issuer text not null,
  nonce text not null,
  code_verifier text not null,
  browser_hash bytea not null,
  redirect text not null,
  client_challenge text,
  expires_at timestamptz(3) not null
);
create index single_sign_on_attempt_by_expiry on single_sign_on_attempt (expires_at);

create table single_sign_on_code (
  code_hash bytea primary key,
  member_id uuid not null references member on delete cascade,
  challenge text not null,
  expires_at timestamptz(3) not null
);
create index single_sign_on_code_by_expiry on single_sign_on_code (expires_at);
create index single_sign_on_code_by_member on single_sign_on_code (member_id);
