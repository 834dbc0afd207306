"""The Gridloom client: the SDK and the commands of its users. Imports nothing of the service."""
