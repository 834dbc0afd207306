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
    def authenticate(self, *, username: str, password: str) -> SignedIn: ...

    @operation("POST", "/auth/public/refresh")
    def refresh(self, *, refresh_token: str) -> SignedIn: ...

    @operation("POST", "/auth/public/invitations/accept")
    def accept_invitation(self, *, token: str, username: str, password: str, display_name: str) -> User: ...

    @operation("GET", "/auth/public/jwks")
    def jwks(self) -> Record: ...

    @operation("POST", "/auth/logout")
    def logout(self) -> None:
        """End this session; its tokens stop working at once."""

    @operation("GET", "/auth/me")
    def me(self) -> Me: ...

    @operation("POST", "/auth/password")
    def change_password(self, *, current_password: str, new_password: str, keep_api_keys: bool | None = None) -> None:
        """Other sessions end, and one's API keys are revoked unless they are to be kept."""

    @operation("POST", "/auth/public/second-factor")
    def complete_login(self, *, challenge: str, code: str) -> SignedIn:
        """The tokens of a login that was answered with a challenge."""

    @operation("GET", "/auth/public/sso/start")
    def start_single_sign_on(
        self, *, organisation: str, redirect: str | None = None, code_challenge: str | None = None
    ) -> None:
        """Leads a browser to the organisation's provider: open its address there, not here."""

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
        """Where the provider sends a browser back to."""

    @operation("POST", "/auth/public/sso/token")
    def exchange_sso_code(self, *, code: str, verifier: str) -> SignedIn:
        """The tokens for the one-time code that a command line got."""

    @operation("POST", "/auth/totp")
    def begin_totp(self) -> NewTotp:
        """A secret for a device; it counts once `confirm_totp` has a code of it."""

    @operation("PUT", "/auth/totp")
    def confirm_totp(self, *, code: str) -> RecoveryCodes: ...

    @operation("DELETE", "/auth/totp")
    def remove_totp(self, body: TotpRemoval) -> None:
        """Needs a code of the device or a recovery code."""

    @collection("/auth/sessions")
    def sessions(self, *, page_size: int | None = None) -> SessionEntry:
        """Where one is signed in."""

    @operation("DELETE", "/auth/sessions")
    def end_other_sessions(self) -> None: ...

    @operation("DELETE", "/auth/sessions/{sessionID}")
    def end_session(self, session_id: ID) -> None: ...

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
        """The secret is shown this once."""

    @collection("/auth/api-keys")
    def api_keys(self, *, page_size: int | None = None) -> ApiKeyEntry: ...

    @operation("DELETE", "/auth/api-keys/{apiKeyID}")
    def revoke_api_key(self, api_key_id: ID) -> None: ...
