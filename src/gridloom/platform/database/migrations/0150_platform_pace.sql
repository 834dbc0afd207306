-- How many seconds pass on the platform's clock in a real one. One, but in a sandbox whose clock stands still
-- (database/environment.py replaces this function there, as it does with platform_now).
create function platform_pace() returns float8 language sql volatile parallel safe
  return 1.0::float8;
