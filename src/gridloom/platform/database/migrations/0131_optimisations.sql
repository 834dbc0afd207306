-- What takes longer than a request: asked for by one organisation, made by a job, kept for a day (optimisations) or
-- until the organisation has asked for many more (back-tests).
create table optimisation (
  organisation_id uuid not null references organisation,
  id uuid not null,
  subject_id uuid not null,
  asked_by uuid not null,
  asked_at timestamptz(3) not null,
  status text not null,
  request jsonb not null,
  answer jsonb,
  primary key (organisation_id, id),
  constraint optimisation_status check (status in ('QUEUED', 'RUNNING', 'DONE', 'FAILED'))
);

create index optimisation_by_age on optimisation (asked_at);

create table backtest (
  organisation_id uuid not null references organisation,
  id uuid not null,
  asked_by uuid not null,
  asked_at timestamptz(3) not null,
  status text not null,
  start_day date not null,
  end_day date not null,
  series text collate "C" not null,
  policy text not null,
  battery jsonb not null,
  earned_eur float8 not null default 0,
  foresight_eur float8 not null default 0,
  days_done int not null default 0,
  failure text,
  primary key (organisation_id, id),
  constraint backtest_status check (status in ('QUEUED', 'RUNNING', 'DONE', 'FAILED')),
  constraint backtest_lasts check (start_day < end_day)
);

create table backtest_day (
  organisation_id uuid not null,
  backtest_id uuid not null,
  delivery_day date not null,
  earned_eur float8 not null,
  foresight_eur float8 not null,
  charged_kwh float8 not null,
  discharged_kwh float8 not null,
  end_kwh float8 not null,
  foresight_end_kwh float8 not null,
  primary key (organisation_id, backtest_id, delivery_day),
  foreign key (organisation_id, backtest_id) references backtest on delete cascade
);
