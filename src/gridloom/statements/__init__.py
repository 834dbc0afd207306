"""Issued statements: a month of lines for every organisation, numbered, frozen and corrected by the next."""
