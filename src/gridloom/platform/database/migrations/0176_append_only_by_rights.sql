-- The audit log and the logbook are added to and never changed. On a distributed database no trigger can say so; the
-- rights of the service's role do: it keeps its hands off its own tables. (A superuser passes by every right.)
-- One column of the logbook stays open, or its foreign key to itself could lock no row; it is an identity, which
-- PostgreSQL lets nobody set.
drop trigger audit_log_rows_stay on audit_log;
drop trigger audit_log_stays on audit_log;
drop function refuse_audit_log_change();
drop trigger logbook_rows_stay on logbook_entry;
drop trigger logbook_stays on logbook_entry;
drop function refuse_logbook_change();

revoke update, delete, truncate on audit_log, logbook_entry from current_user;
grant update (sequence) on logbook_entry to current_user;
