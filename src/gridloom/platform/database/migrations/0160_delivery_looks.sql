-- A look at a gate finds in one row whether anything follows from it: a changed input (stamps), a new market day
-- (end_period), or a period that leaves facts behind when it becomes final.
alter table delivery_zone add first_settling int;    -- the earliest such period that is not final yet
update delivery_zone set first_settling = settled_until;
