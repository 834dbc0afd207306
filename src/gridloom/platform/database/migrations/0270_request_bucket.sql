-- Requests of one organisation at one replica: a token bucket that its workers lease tokens from. A crash that empties it
-- costs nothing but a minute of strictness.
create unlogged table request_bucket (
  key text primary key,
  tokens float8 not null,
  refilled_at timestamptz not null
) with (fillfactor = 50);

create function lease_requests(
  asked_key text, wanted int, per_second float8, burst int, out granted int, out tokens_left float8
) language plpgsql as $$
begin
  insert into request_bucket as bucket (key, tokens, refilled_at) values (asked_key, burst, clock_timestamp())
  on conflict (key) do update
    set tokens = least(burst, bucket.tokens
          + per_second * greatest(0, extract(epoch from clock_timestamp() - bucket.refilled_at))),
        refilled_at = greatest(bucket.refilled_at, clock_timestamp())
  returning tokens into tokens_left;
  granted := greatest(0, least(wanted, floor(tokens_left)));
  update request_bucket set tokens = tokens - granted where key = asked_key;
  tokens_left := tokens_left - granted;
end $$;
