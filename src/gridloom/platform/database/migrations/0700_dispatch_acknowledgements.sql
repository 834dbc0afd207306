-- What a site says of each quarter-hour of a battery's dispatch: received, applied, rejected, not followed. The same
-- statement again is the same row. The latest of a quarter-hour is the one that was recorded last.
create sequence dispatch_acknowledgement_sequence;  -- of the coordinator: a spread table numbers no rows itself
create table dispatch_acknowledgement (
  asset_key int not null references asset,
  period int not null,
  version int not null,
  status text not null,
  at timestamptz(3) not null,
  sequence bigint not null,
  reason text,
  author_id uuid not null,
  recorded_at timestamptz(3) not null,
  primary key (asset_key, period, version, status, at),
  constraint dispatch_acknowledgement_status_known check (status in ('RECEIVED', 'APPLIED', 'REJECTED', 'NOT_FOLLOWED'))
);
create index dispatch_acknowledgement_by_period on dispatch_acknowledgement (asset_key, period, sequence);

-- Line protocol may name batteries by their names.
create index physical_asset_by_name on physical_asset (name);
