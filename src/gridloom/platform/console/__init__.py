"""The console as the service sees it: its session, the gateway it speaks through, and its files."""
