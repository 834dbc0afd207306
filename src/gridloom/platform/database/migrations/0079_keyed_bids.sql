-- A bid under an Idempotency-Key takes its place together with others, so what is known of the key is looked up, and the
-- answer kept, by the statement that places it.
create function place_auction_bid_once(
  asked_auction uuid, bidder uuid, author uuid, bid uuid, price numeric,
  caller_key text, key_digest bytea, lock_key bigint, kept_for interval,
  out verdict text, out placed_at timestamptz, out sequence int, out opens_at timestamptz, out closes_at timestamptz,
  out kept_fingerprint bytea, out kept_status smallint, out kept_headers text, out kept_body bytea
) language plpgsql as $$
declare
  is_free boolean;
begin
  if caller_key is not null then
    select k.is_free, k.fingerprint, k.status, k.headers, k.body
    into is_free, kept_fingerprint, kept_status, kept_headers, kept_body
    from idempotency_begin(caller_key, key_digest, lock_key, kept_for) k;
    if not is_free or kept_status is not null then
      verdict := case when is_free then 'KNOWN' else 'IN_PROGRESS' end;
      return;
    end if;
  end if;
  select p.verdict, p.placed_at, p.sequence, p.opens_at, p.closes_at
  into verdict, placed_at, sequence, opens_at, closes_at
  from place_auction_bid(asked_auction, bidder, author, bid, price) p;
end $$;

-- A moment as the interface writes it: UTC, whole seconds or milliseconds.
create function moment_on_wire(moment timestamptz) returns text language sql immutable parallel safe as $$
  select to_char(moment at time zone 'UTC',
    case when date_trunc('second', moment) = moment then 'YYYY-MM-DD"T"HH24:MI:SS"Z"' else 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' end)
$$;
