-- An auction names the least share of its item that must be there when it closes; those of earlier releases were made
-- without, and take any. What was cancelled says when and why; of what was cancelled before, the latest moment is known.
alter table auction add column minimum_availability float8 not null default 0;
alter table auction add constraint auction_minimum_is_a_share check (minimum_availability between 0 and 1);
alter table auction add column annual_cycle_limit float8;
alter table auction add column cancelled_at timestamptz(3);
alter table auction add column cancelled_reason text;
update auction set cancelled_at = least(closes_at, platform_now()), cancelled_reason = 'BY_OPERATOR'
where state = 'CANCELLED';
alter table auction add constraint auction_cancelled_reason_known
  check (cancelled_reason in ('BY_OPERATOR', 'NOT_DELIVERABLE'));
alter table auction add constraint auction_cancelled_says_why
  check ((state = 'CANCELLED') = (cancelled_at is not null and cancelled_reason is not null));
