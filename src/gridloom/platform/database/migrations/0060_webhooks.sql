-- Webhooks: an address that is called for each event of an organisation's order, and the log of those calls.

create table webhook (
  organisation_id       uuid not null references organisation,
  id                    uuid not null,
  url                   text not null,
  types                 text[] not null,               -- empty: every type
  description           text,
  permissions           text[] not null,               -- what whoever set it up may read
  position              bigint not null,               -- the last place in the order for which deliveries were made
  enabled               boolean not null default true,
  disabled_because      text,
  disabled_at           timestamptz(3),
  secret                bytea not null,
  previous_secret       bytea,
  previous_secret_until timestamptz(3),
  version               int not null default 1,
  created_at            timestamptz(3) not null default clock_timestamp(),
  updated_at            timestamptz(3) not null default clock_timestamp(),
  constraint webhook_pkey primary key (organisation_id, id),
  constraint webhook_url_sized check (length(url) between 1 and 2000),
  constraint webhook_overlap_ends check ((previous_secret is null) = (previous_secret_until is null)),
  constraint webhook_disabling_has_time check (disabled_because is null or (not enabled and disabled_at is not null))
);
create index webhook_disabled on webhook (disabled_at) where disabled_because is not null;

create table webhook_delivery (
  organisation_id uuid not null,
  id              uuid not null,
  webhook_id      uuid not null,
  sequence        bigint not null,                     -- the event's place in the order
  event_id        uuid not null,
  type            text not null,
  body            text not null,                       -- signed anew for each attempt, never changed
  state           text not null default 'PENDING',
  attempts        int not null default 0,
  created_at      timestamptz(3) not null default clock_timestamp(),
  due             timestamptz(3) not null default clock_timestamp(),   -- while an attempt runs: when it is taken for lost
  give_up_at      timestamptz(3) not null,
  ended_at        timestamptz(3),
  replays_id      uuid,                                -- the delivery that this one repeats at somebody's wish
  constraint webhook_delivery_pkey primary key (organisation_id, id),
  constraint webhook_delivery_of_webhook foreign key (organisation_id, webhook_id)
    references webhook (organisation_id, id) on delete cascade,
  constraint webhook_delivery_state_known check (state in ('PENDING', 'DELIVERED', 'FAILED')),
  constraint webhook_delivery_ends check ((state = 'PENDING') = (ended_at is null))
);
-- Each event is delivered once to each webhook, whatever dies in between; replays come on top.
create unique index webhook_delivery_of_event on webhook_delivery (organisation_id, webhook_id, sequence)
  where replays_id is null;
create index webhook_delivery_by_webhook on webhook_delivery (organisation_id, webhook_id, id desc);
create index webhook_delivery_due on webhook_delivery (due) where state = 'PENDING';
create index webhook_delivery_by_age on webhook_delivery (created_at);

create table webhook_attempt (
  organisation_id uuid not null,
  delivery_id     uuid not null,
  number          int not null,
  started_at      timestamptz(3) not null,
  took_ms         int not null,
  url             text not null,
  request_headers jsonb not null,
  status          int,
  answer_headers  jsonb,
  answer_body     text,
  error           text,
  constraint webhook_attempt_pkey primary key (organisation_id, delivery_id, number),
  constraint webhook_attempt_of_delivery foreign key (organisation_id, delivery_id)
    references webhook_delivery (organisation_id, id) on delete cascade,
  constraint webhook_attempt_has_outcome check (status is not null or error is not null)
);
