"""OpenAPI 3.1.0: what is declared, described in the words of the vocabulary."""
