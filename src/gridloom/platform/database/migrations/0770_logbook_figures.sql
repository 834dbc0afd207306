-- The quantities in the descriptions of the platform's own entries, as values; entries before this have none.
alter table logbook_entry add column figures jsonb not null default '[]';
