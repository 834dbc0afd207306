-- Whether the operator named an auction's limit of daily cycles, or it is that of the batteries behind it: other
-- batteries then bring theirs. Of auctions that are open now nothing tells, so theirs stays.
alter table auction add column is_daily_cycle_limit_named boolean not null default true;
