-- The console's sessions: a cookie stands for a login, whose tokens never leave the service.

create table console_session (
  cookie_hash bytea primary key,
  session_id  uuid not null references session on delete cascade,
  created_at  timestamptz(3) not null default clock_timestamp(),
  constraint console_session_hash_sized check (length(cookie_hash) = 32)
);
create index console_session_by_session on console_session (session_id);
