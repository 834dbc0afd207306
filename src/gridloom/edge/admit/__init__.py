"""Who gets in and stays: tokens and permissions, rate limits, connections, callers that leave."""
