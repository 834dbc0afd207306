"""An MCP server for assistants: jobs of the platform's users as tools, on the SDK alone, with an API key of its own."""
