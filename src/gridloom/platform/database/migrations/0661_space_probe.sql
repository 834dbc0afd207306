-- A row as large as a full disk has no room for: it is inserted to find out, and rolled back.
create table space_probe (body bytea not null);
alter table space_probe alter column body set storage external;
