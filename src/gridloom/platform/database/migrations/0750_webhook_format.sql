-- What a webhook is sent: the platform's own events, or CloudEvents. A delivery keeps the format of its body, which may
-- wait while the webhook is changed.
alter table webhook add column format text not null default 'GRIDLOOM'
  constraint webhook_format_known check (format in ('GRIDLOOM', 'CLOUDEVENTS'));
alter table webhook_delivery add column format text not null default 'GRIDLOOM'
  constraint webhook_delivery_format_known check (format in ('GRIDLOOM', 'CLOUDEVENTS'));
