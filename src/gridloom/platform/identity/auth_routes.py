"""Logging in, staying in, leaving: `/auth`."""

from __future__ import annotations

import math

from gridloom.kernel.ids import UserID, uuid7
from gridloom.kernel.problem import Conflict, NotFound, Problem, Unauthenticated
from gridloom.platform.audit.model import Actor
from gridloom.platform.audit.recording import record_denied
from gridloom.platform.http import ENROLLING, PUBLIC, SIGNED_IN, Caller, Request, Response, operation
from gridloom.platform.http.admit import NetworkNotAllowed
from gridloom.platform.identity import views
from gridloom.platform.identity.login.login import SingleSignOnRequired, WrongCredentials, check_login, sign_in
from gridloom.platform.identity.login.password_rules import PasswordRefused
from gridloom.platform.identity.login.passwords import LoginsBusy, PasswordHasher
from gridloom.platform.identity.login.sessions import continue_session
from gridloom.platform.identity.login.throttling import AcceptancesThrottled, LoginThrottled, acceptance_bucket
from gridloom.platform.identity.login.usernames import UsernameRefused, check_username
from gridloom.platform.identity.model import InvitationStatus, SessionEnd
from gridloom.platform.identity.person import PersonNeeded, require_user
from gridloom.platform.identity.second_factor.challenges import SecondFactorRequired
from gridloom.platform.identity.signing_key_cache import JWKS_MAX_AGE, SigningKeyCache
from gridloom.platform.identity.store import invitations, members, sessions
from gridloom.platform.identity.store.api_keys import delete_member_keys
from gridloom.platform.identity.store.login_throttle import count_attempt, give_back_attempt
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.store.second_factors import delete_challenges
from gridloom.platform.identity.tokens import hash_of
from gridloom.platform.identity.views import NO_STORE, Acceptance, Credentials, PasswordChange, RefreshRequest

TAG = "Authentication"


class RefreshRefused(Unauthenticated, title="The refresh token is not accepted"):
    """The refresh token is unknown, expired or used before, or its session has ended. Log in again.

    A refresh token works once. When it comes a second time, it was copied: every token of that login ends.
    """


class InvitationSpent(Conflict, title="The invitation can no longer be used"):
    """The invitation was accepted or revoked, or its seven days are over. Ask for a new one."""


class UsernameTaken(Conflict, title="The user name is taken"):
    """The user name is taken; upper and lower case make no difference. Choose another."""


class WrongCurrentPassword(Problem, status=422, title="The current password is wrong"):
    """The current password is not right, so the new one was not set."""


@operation(
    "POST",
    "/auth/public/authenticate",
    summary="Log in",
    access=PUBLIC,
    problems=(
        WrongCredentials,
        SecondFactorRequired,
        NetworkNotAllowed,
        SingleSignOnRequired,
        LoginThrottled,
        LoginsBusy,
    ),
    transaction="manual",
    secret_response=True,
)
async def authenticate(request: Request, body: Credentials) -> Response[views.Tokens]:
    """An access token for fifteen minutes, and a refresh token for thirty days that obtains the next one.

    A user with a second factor gets a 401 with a `challenge` instead, for `POST /auth/public/second-factor`.
    """
    pair = await sign_in(request, body.username, body.password)
    return Response(views.tokens_of(pair), headers=NO_STORE)


@operation(
    "POST",
    "/auth/public/refresh",
    summary="Obtain the next tokens",
    access=PUBLIC,
    problems=(RefreshRefused,),
    transaction="manual",
    secret_response=True,
)
async def refresh_tokens(request: Request, body: RefreshRequest) -> Response[views.Tokens]:
    """Spends the refresh token; using a spent one ends the whole login."""
    key = await request.resources[SigningKeyCache].for_signing()
    db = await request.begin()
    spent = await sessions.spend_refresh_token(db, hash_of(body.refresh_token))
    if spent is None:
        raise RefreshRefused("The refresh token is unknown or expired, or its session has ended.")
    if not spent.is_first_use:
        # What follows must last although this request fails.
        await request.release()
        await _end_stolen_session(request, spent)
        raise RefreshRefused("The refresh token was used before. Every token of that login has been revoked.")
    pair = await continue_session(db, key, spent.session_id, spent.member_id)
    if pair is None:
        raise RefreshRefused("The session has ended.")
    request.set_caller(pair.caller)
    return Response(views.tokens_of(pair), headers=NO_STORE)


async def _end_stolen_session(request: Request, spent: sessions.SpentToken) -> None:
    async with request.pool.acquire(timeout=5) as connection, connection.transaction():
        if not await sessions.end_session(connection, spent.session_id, SessionEnd.REFRESH_REUSED):
            return
        account = await members.read_account(connection, spent.member_id)
        assert account is not None, "a session does not outlive its member"
        member = account.member
        await record_denied(
            connection,
            request,
            401,
            actor=Actor("USER", member.organisation_id, member.id, member.username),
            details={"reason": "refresh token reused", "sessionID": str(spent.session_id)},
        )


@operation("GET", "/auth/public/jwks", summary="The keys that verify tokens", access=PUBLIC)
async def read_key_set(request: Request) -> Response[views.KeySet]:
    """Public keys as JSON Web Keys; a token's header names its key by `kid`."""
    keys = [views.view_of_signing_key(key) for key in await request.resources[SigningKeyCache].all()]
    max_age_s = int(JWKS_MAX_AGE.total_seconds())
    return Response(views.KeySet(keys=keys), headers={"Cache-Control": f"public, max-age={max_age_s}"})


@operation(
    "POST",
    "/auth/public/invitations/accept",
    summary="Accept an invitation",
    access=PUBLIC,
    status=201,
    location="/auth/me",
    problems=(
        NotFound,
        InvitationSpent,
        UsernameTaken,
        UsernameRefused,
        PasswordRefused,
        AcceptancesThrottled,
        LoginsBusy,
    ),
    transaction="manual",
)
async def accept_invitation(request: Request, body: Acceptance) -> views.User:
    """Makes the user that the invitation is for, with credentials of their own. The token works once."""
    await request.replay_if_stored()
    attempts = [acceptance_bucket(request.address)]
    wait_s = await count_attempt(request.pool, attempts)
    if wait_s > 0:
        raise AcceptancesThrottled("Too many attempts from this address.", retry_after_s=math.ceil(wait_s))
    username = check_username(body.username, pointer="/username")
    invitation = await invitations.find_invitation(request.pool, hash_of(body.token))
    if invitation is None:
        raise NotFound("There is no invitation with this token.")
    if invitation.status is not InvitationStatus.PENDING:
        raise InvitationSpent(f"The invitation is {invitation.status.lower()}.")
    hasher = request.resources[PasswordHasher]
    await hasher.check_strength(body.password, (username, body.display_name), pointer="/password")
    password_hash = await hasher.hash(body.password)
    await give_back_attempt(request.pool, attempts)
    db = await request.begin()
    await lock_organisation(db, invitation.organisation_id)
    if not await invitations.use_invitation(db, invitation.id):
        raise InvitationSpent("The invitation was used or revoked a moment ago.")
    member = await members.insert_member(
        db,
        member_id=UserID(uuid7()),
        organisation_id=invitation.organisation_id,
        username=username,
        display_name=body.display_name,
        role=invitation.role,
        password_hash=password_hash,
        email=invitation.email,
    )
    if member is None:
        raise UsernameTaken.at("/username", f"The user name {username} is taken.", "is taken")
    request.set_caller(
        Caller(
            id=member.id,
            kind="USER",
            organisation_id=member.organisation_id,
            organisation_kind=member.organisation_kind,
            role=member.role,
            permissions=frozenset(member.permissions),
            session_id=invitation.id,
            username=member.username,
            display_name=member.display_name,
        )
    )
    request.audit_details.update(invitationID=str(invitation.id), userID=str(member.id))
    return views.user_of(request.caller)


@operation(
    "POST",
    "/auth/logout",
    summary="Log out",
    access=ENROLLING,
    problems=(PersonNeeded,),
    asset_scope="free",
)
async def logout(request: Request) -> None:
    """Ends this login: its access and refresh tokens stop working everywhere within a second."""
    await sessions.end_session(request.db, require_user(request).session_id, SessionEnd.LOGOUT)


@operation(
    "GET",
    "/auth/me",
    summary="Who am I",
    access=ENROLLING,
    asset_scope="free",
)
async def read_me(request: Request) -> views.User:
    """The caller with what it may do now. For an API key: the key, under its creator's user name."""
    return views.user_of(request.caller)


@operation(
    "POST",
    "/auth/password",
    summary="Change the password",
    access=SIGNED_IN,
    status=204,
    problems=(PersonNeeded, WrongCurrentPassword, PasswordRefused, LoginThrottled, LoginsBusy),
    transaction="manual",
)
async def update_password(request: Request, body: PasswordChange) -> None:
    """Sets a new password; every other login of this user ends, and its API keys are revoked unless `keepAPIKeys`."""
    caller = require_user(request)
    await request.replay_if_stored()
    if body.new_password == body.current_password:
        raise PasswordRefused.at("/newPassword", "The new password is the current one.", "is the current one")
    account = await members.read_account(request.pool, caller.id)
    if not await check_login(request, caller.username, account, body.current_password) or account is None:
        raise WrongCurrentPassword.at("/currentPassword", "The current password is not right.", "is not right")
    hasher, names = request.resources[PasswordHasher], (caller.username, caller.display_name)
    await hasher.check_strength(body.new_password, names, pointer="/newPassword")
    new_hash = await hasher.hash(body.new_password)
    db = await request.begin()
    await lock_organisation(db, caller.organisation_id)
    if not await members.change_password(db, caller.id, known_hash=account.password_hash, new_hash=new_hash):
        raise WrongCurrentPassword("The password was changed a moment ago.")
    await delete_challenges(db, caller.id)
    await sessions.end_other_sessions(db, caller.id, kept=caller.session_id, cause=SessionEnd.PASSWORD_CHANGED)
    if not body.keep_api_keys:
        request.audit_details["revokedAPIKeys"] = await delete_member_keys(db, caller.id)
