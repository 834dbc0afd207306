"""Copies of the database: dumps that restore on any supported server, and continuous backups of the embedded one."""
