-- Issued statements. A month is issued for all organisations in one transaction or not at all; what is issued is added
-- and never changed: the service's role has no right to (as of the audit log; a superuser passes by every right, and
-- finds each statement's digest in the next one's).

-- When a market day's facts last changed: what a correction has to look at again.
alter table settled_day add column revised_at timestamptz(3) not null default '-infinity';

-- A run that issues a month. At most one at a time, whatever the month.
create table statement_run (
  id uuid primary key,
  month date not null,
  status text not null,
  allow_missing boolean not null,
  asked_by uuid not null,
  asked_at timestamptz(3) not null,
  as_of timestamptz(3),                       -- facts count as of this moment; known once what was measured is recorded
  parts int not null default 0,
  parts_done int not null default 0,
  missing jsonb not null default '[]',        -- what was missing when it was allowed to be
  fault text,
  ended_at timestamptz(3),
  constraint statement_run_status_known check (status in ('RUNNING', 'DONE', 'FAILED')),
  constraint statement_run_month_is_a_month check (extract(day from month) = 1)
);
create unique index statement_run_one_at_a_time on statement_run (status) where status = 'RUNNING';

-- What a run has to compute, and has computed so far: gone when it ends.
create table statement_draft (
  run_id uuid not null references statement_run,
  asset_key int not null,
  month date not null,
  body bytea,
  primary key (run_id, asset_key, month)
);

-- The months that are issued. One row each, so a month is issued once.
create table statement_month (
  month date primary key,
  run_id uuid not null references statement_run,
  as_of timestamptz(3) not null,
  issued_at timestamptz(3) not null,
  constraint statement_month_is_a_month check (extract(day from month) = 1)
);

-- What was accounted for an asset and month: first by the run that issued the month, then by each that corrected it.
create table statement_account (
  asset_key int not null,                     -- no foreign key: to check one takes a right to lock rows, which is one to change them
  month date not null,
  as_of timestamptz(3) not null,
  body bytea not null,
  primary key (asset_key, month, as_of)
);
alter table statement_account alter body set storage external;

-- The statements themselves, as they are answered: `body` is the JSON, `summary` the same with lines summed over the month.
create table statement (
  organisation_id uuid not null,
  id uuid not null,
  month date not null,
  year int not null,
  number int not null,
  issued_at timestamptz(3) not null,
  total_cents bigint not null,
  body bytea not null,
  summary bytea not null,
  digest bytea not null,                      -- SHA-256 of the body and of the organisation's statement before
  primary key (organisation_id, id),
  constraint statement_once_a_month unique (organisation_id, month),
  constraint statement_number_once unique (organisation_id, year, number),
  constraint statement_number_counts check (number >= 1)
);
alter table statement alter body set storage external;

revoke update, delete, truncate on statement_month, statement_account, statement from current_user;
