"""The last stage of a request: a response in the format that was asked for, and errors as problems."""
