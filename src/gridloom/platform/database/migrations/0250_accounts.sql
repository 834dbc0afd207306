-- Accounts that can be contained: what an organisation demands of its members, keys that end, and second factors.

alter table organisation
  add column require_second_factor boolean not null default false,
  add column max_key_age_days int not null default 365,
  add column allowed_networks text[] not null default '{}',
  add constraint organisation_key_age_sane check (max_key_age_days between 1 and 3650);

-- A member has the address it was invited by. Members who sign in by single sign-on alone have no password.
alter table member
  add column email text,
  alter column password_hash drop not null,
  add constraint member_email_sized check (length(email) between 3 and 254);
create index member_by_email on member (organisation_id, lower(email)) where email is not null;

do $$
declare
  accepted record;
begin
  for accepted in
    select (details ->> 'userID')::uuid as member_id, (details ->> 'invitationID')::uuid as invitation_id
    from audit_log where action = 'acceptInvitation' and status = 201 and details ? 'userID' and details ? 'invitationID'
  loop
    update member m set email = i.email from invitation i
    where m.id = accepted.member_id and i.id = accepted.invitation_id and m.email is null and length(i.email) >= 3;
  end loop;
end $$;

-- PASSWORD: the user's own; SINGLE_SIGN_ON: the organisation's provider has vouched for the user.
alter table session
  add column last_used_at timestamptz(3) not null default clock_timestamp(),
  add column sign_in_method text not null default 'PASSWORD',
  drop constraint session_cause_known,
  add constraint session_method_known check (sign_in_method in ('PASSWORD', 'SINGLE_SIGN_ON')),
  add constraint session_cause_known check (ended_because in
    ('LOGOUT', 'PASSWORD_CHANGED', 'REFRESH_REUSED', 'ENDED_BY_USER', 'PASSWORDS_DISALLOWED'));

-- A console session ends twelve hours after signing in.
update session s set expires_at = least(s.expires_at, s.created_at + interval '12 hours')
from console_session c where c.session_id = s.id and s.ended_at is null;

alter table api_key
  add column physical_asset_ids uuid[],
  add column allowed_networks text[] not null default '{}',
  add column expiry_notified_at timestamptz(3),
  add constraint api_key_assets_named check (cardinality(physical_asset_ids) > 0);
update api_key set expires_at = statement_timestamp() + interval '365 days' where expires_at is null;
create index api_key_by_expiry on api_key (expires_at);

-- confirmed_at is null until a first code has shown that the user's device has the secret. last_step is the time step of
-- the last code that was spent: no code of it or of an earlier one works again.
create table second_factor (
  member_id uuid primary key references member on delete cascade,
  sealed_secret bytea not null,
  last_step bigint not null default 0,
  created_at timestamptz(3) not null default clock_timestamp(),
  confirmed_at timestamptz(3)
);

create table recovery_code (
  member_id uuid not null references member on delete cascade,
  code_hash bytea not null,
  spent_at timestamptz(3),
  primary key (member_id, code_hash),
  constraint recovery_code_hash_sized check (length(code_hash) = 32)
);

-- A password was right and the second factor is missing. throttle_subjects: the buckets in which the attempt counts until
-- the code is right too.
create table sign_in_challenge (
  challenge_hash bytea primary key,
  member_id uuid not null references member on delete cascade,
  throttle_subjects bytea[] not null,
  expires_at timestamptz(3) not null,
  constraint sign_in_challenge_hash_sized check (length(challenge_hash) = 32)
);
create index sign_in_challenge_by_member on sign_in_challenge (member_id);
create index sign_in_challenge_by_expiry on sign_in_challenge (expires_at);
