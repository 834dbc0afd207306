"""Signing in, one's own account, and machine credentials."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gridloom_client.answers import (
    ApiKeyEntry,
    IssuedApiKey,
    Me,
    NewTotp,
    RecoveryCodes,
    SessionEntry,
    SignedIn,
    User,
)
from gridloom_client.inputs import TotpRemoval
from gridloom_client.literals import Permission
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.response_types import Record
from gridloom_client.wire import ID


class Auth(Resource[M]):
    """Clients sign in and renew their tokens by themselves; these are for doing so by hand."""

    @operation("POST", "/auth/public/authenticate")
    def authenticate(self, *, username: str, password: str) -> SignedIn:
        """Log in.

        An access token for fifteen minutes, and a refresh token for thirty days that obtains the next one. A user with
        a second factor gets a 401 with a `challenge` instead, for `POST /auth/public/second-factor`.

        Args:
            username: User name, in any case of its letters
            password: Password of the user

        Example:
            client.auth.authenticate(username="ada", password="harbour-spindle-ochre-72")
        """

    @operation("POST", "/auth/public/refresh")
    def refresh(self, *, refresh_token: str) -> SignedIn:
        """Obtain the next tokens.

        Spends the refresh token; using a spent one ends the whole login.

        Args:
            refresh_token: Obtains the next pair of tokens, once

        Example:
            client.auth.refresh(refresh_token="glr_c2VjcmV0")
        """

    @operation("POST", "/auth/public/invitations/accept")
    def accept_invitation(self, *, token: str, username: str, password: str, display_name: str) -> User:
        """Accept an invitation.

        Makes the user that the invitation is for, with credentials of their own. The token works once.

        Args:
            token: Token of the invitation
            username: User name, unique whatever the case of its letters
            password: At least 12 characters and hard to guess
            display_name: Name of the person, in one line

        Example:
            client.auth.accept_invitation(
                token="gli_c2VjcmV0",
                username="ada",
                password="harbour-spindle-ochre-72",
                display_name="Ada Lovelace",
            )
        """

    @operation("GET", "/auth/public/jwks")
    def jwks(self) -> Record:
        """The keys that verify tokens.

        Public keys as JSON Web Keys; a token's header names its key by `kid`.
        """

    @operation("POST", "/auth/logout")
    def logout(self) -> None:
        """Log out.

        Ends this login: its access and refresh tokens stop working everywhere within a second.
        """

    @operation("GET", "/auth/me")
    def me(self) -> Me:
        """Who am I.

        The caller with what it may do now. For an API key: the key, under its creator's user name.
        """

    @operation("POST", "/auth/password")
    def change_password(self, *, current_password: str, new_password: str, keep_api_keys: bool | None = None) -> None:
        """Change the password.

        Sets a new password; every other login of this user ends, and its API keys are revoked unless `keepAPIKeys`.

        Args:
            current_password: The password up to now
            new_password: At least 12 characters and hard to guess
            keep_api_keys: Whether the user's API keys stay valid; otherwise they are revoked

        Example:
            client.auth.change_password(
                current_password="harbour-spindle-ochre-72",
                new_password="lantern-quarry-violet-91",
            )
        """

    @operation("POST", "/auth/public/second-factor")
    def complete_login(self, *, challenge: str, code: str) -> SignedIn:
        """Log in with a second factor.

        The tokens of a login, for the challenge that it answered and a code of the device, or a recovery code.

        Args:
            challenge: Of the 401 `second-factor-required`; valid for five minutes
            code: One-time code of the device, or a recovery code

        Example:
            client.auth.complete_login(challenge="glc_c2VjcmV0", code="492039")
        """

    @operation("GET", "/auth/public/sso/start")
    def start_single_sign_on(
        self, *, organisation: str, redirect: str | None = None, code_challenge: str | None = None
    ) -> None:
        """Begin single sign-on.

        Leads a browser to the organisation's identity provider, and back to `/auth/public/sso/callback`.

        Args:
            organisation: Id or name of the organisation
            redirect: Page of the console, or address at http://127.0.0.1 at which a command line waits
            code_challenge: S256 challenge of the command line's verifier (PKCE); left out for the console

        Note:
            Leads a browser to the organisation's provider: open its address there, not here.

        Example:
            client.auth.start_single_sign_on(organisation="text")
        """

    @operation("GET", "/auth/public/sso/callback")
    def finish_single_sign_on(
        self,
        *,
        state: str | None = None,
        code: str | None = None,
        error: str | None = None,
        error_description: str | None = None,
        error_uri: str | None = None,
        iss: str | None = None,
        session_state: str | None = None,
        scope: str | None = None,
    ) -> bytes:
        """Come back from the identity provider.

        Signs in to the console, by a page that opens it, or hands a one-time code to the command line that waits.

        Args:
            state: `state` of the sign-in
            code: Authorisation code of the provider
            error: Error code of the provider
            error_description: Explanation of the error
            error_uri: Page of the provider about the error
            iss: The issuer, as the provider names itself
            session_state: The session at the provider; not used
            scope: Scope that the provider granted; not used
        """

    @operation("POST", "/auth/public/sso/token")
    def exchange_sso_code(self, *, code: str, verifier: str) -> SignedIn:
        """Log in with a code of single sign-on.

        The tokens of a login for the one-time code that a command line got, and the verifier of its challenge.

        Args:
            code: One-time code that the callback gave to the command line
            verifier: The verifier whose challenge began the sign-in (PKCE)

        Example:
            client.auth.exchange_sso_code(
                code="Zm9yLW9uZS11c2Utb25seQ",
                verifier="M25iVXpKU3puUjFaYWg3T1NDTDQtcW1ROUY5YXlwalNoc0hhakxifmZHag",
            )
        """

    @operation("POST", "/auth/totp")
    def begin_totp(self) -> NewTotp:
        """Begin a second factor.

        A new secret for time-based codes (RFC 6238). It counts once a first code has confirmed it.
        """

    @operation("PUT", "/auth/totp")
    def confirm_totp(self, *, code: str) -> RecoveryCodes:
        """Confirm a second factor.

        From now on signing in asks for a code. Answers ten recovery codes, this once.

        Args:
            code: First one-time code of the device, six digits

        Example:
            client.auth.confirm_totp(code="492039")
        """

    @operation("DELETE", "/auth/totp")
    def remove_totp(self, body: TotpRemoval) -> None:
        """Remove my second factor.

        Needs a code of the device or a recovery code; the password too, where it is sent.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken

        Example:
            client.auth.remove_totp({'code': '492039', 'password': 'harbour-spindle-ochre-72'})
        """

    @collection("/auth/sessions")
    def sessions(self, *, page_size: int | None = None) -> SessionEntry:
        """List my sessions.

        Where the caller is signed in, the oldest first. `lastUsedAt` is exact to five minutes.

        Args:
            page_size: How many items are fetched at a time
        """

    @operation("DELETE", "/auth/sessions")
    def end_other_sessions(self) -> None:
        """End my other sessions.

        Ends all sessions of the caller but its own: their tokens stop working everywhere within a second.
        """

    @operation("DELETE", "/auth/sessions/{sessionID}")
    def end_session(self, session_id: ID) -> None:
        """End one of my sessions.

        Its tokens stop working everywhere within a second.

        Args:
            session_id: The session
        """

    @operation("POST", "/auth/api-keys")
    def create_api_key(
        self,
        *,
        name: str,
        permissions: Sequence[Permission],
        expires_at: datetime | None = None,
        physical_asset_ids: Sequence[ID] | None = None,
        allowed_networks: Sequence[str] | None = None,
    ) -> IssuedApiKey:
        """Create an API key.

        A credential for a machine. It can never do more than its creator may at the instant of use.

        Args:
            name: Name of the key, in one line
            permissions: Permissions, as `Action:resource` words
            expires_at: When the key expires: within the organisation's `maxKeyAgeDays`, which is also the default
            physical_asset_ids: Physical assets that the key may reach; left out: all that its creator may
            allowed_networks: Networks from which the key may call, in CIDR notation, within those of the organisation;
                left out: the organisation's

        Example:
            client.auth.create_api_key(name="nightly export", permissions=['Read:physical-assets'])
        """

    @collection("/auth/api-keys")
    def api_keys(self, *, page_size: int | None = None) -> ApiKeyEntry:
        """List my API keys.

        The caller's own, the oldest first, without their secrets, with what each may do now.

        Args:
            page_size: How many items are fetched at a time
        """

    @operation("DELETE", "/auth/api-keys/{apiKeyID}")
    def revoke_api_key(self, api_key_id: ID) -> None:
        """Revoke an API key.

        The key stops working everywhere within a second.

        Args:
            api_key_id: The API key
        """
