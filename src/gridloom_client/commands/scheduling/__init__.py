"""`gridloom schedule …`: schedules shown, put, proposed and repaired."""
