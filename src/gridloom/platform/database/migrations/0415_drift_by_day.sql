-- The trades of placed drift are made day by day.
create index delivery_drift_by_day on delivery_drift (day);
