"""Single sign-on by an organisation's own identity provider (OpenID Connect, authorisation code with PKCE)."""
