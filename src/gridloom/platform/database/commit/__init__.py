"""The end of a transaction: deferred rows of all packages in one statement, and callbacks after commit."""
