-- What a zone's plan was made from, virtual assets apart from the rest: their keys, then their versions, then the first
-- period of each that will be cut, 0 for none, all in the order of their keys. Thousands of numbers are compared and
-- written faster than as many named texts. A zone that was planned before finds itself changed, and is read anew.
alter table delivery_zone add asset_stamps int[] not null default '{}';
alter table delivery_zone alter asset_stamps set storage external;
