"""The world in the sandbox: a market, batteries and the people who trade them, clients of the service like others."""
