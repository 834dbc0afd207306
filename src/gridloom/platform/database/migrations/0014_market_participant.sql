-- Under which code the publisher of a market message is registered, as the asset's metadata said when it was published.

alter table exchange_notification_version
  add column participant_code_scheme text,
  add column participant_code text,
  add constraint notification_participant_code_whole
    check ((participant_code_scheme is null) = (participant_code is null)),
  add constraint notification_participant_code_scheme_known check (participant_code_scheme in ('ace', 'eic'));
