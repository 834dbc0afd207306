"""What has happened: recorded with the change itself, put into one order per organisation, and told to who may know."""
