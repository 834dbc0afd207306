-- Of one address an organisation has one open invitation: another one renews it. Of those there are, the newest stays.
update invitation i set revoked_at = i.created_at
where i.accepted_at is null and i.revoked_at is null and exists (
  select from invitation newer
  where newer.organisation_id = i.organisation_id and lower(newer.email) = lower(i.email) and newer.id > i.id
    and newer.accepted_at is null and newer.revoked_at is null
);
create unique index invitation_open_once on invitation (organisation_id, lower(email))
where accepted_at is null and revoked_at is null;
