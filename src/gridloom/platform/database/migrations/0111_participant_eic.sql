-- ENTSO-E's documents know a sender by its EIC alone, also where ACER's code names the publisher elsewhere.
alter table exchange_notification_version add column participant_eic text;
update exchange_notification_version set participant_eic = participant_code where participant_code_scheme = 'eic';
