"""A statement as a document: pages and tables."""
