"""Second factors: time-based one-time codes (RFC 6238) and the recovery codes beside them."""
