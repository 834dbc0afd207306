"""Setting up, using and removing a second factor: `/auth/totp`, `/auth/public/second-factor`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from gridloom.kernel.problem import Conflict, Unprocessable
from gridloom.platform.database.clock import real_now
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.http import ENROLLING, PUBLIC, Request, RequestBody, Response, ResponseBody, operation
from gridloom.platform.http.admit import NetworkNotAllowed
from gridloom.platform.identity import views
from gridloom.platform.identity.auth_routes import WrongCurrentPassword
from gridloom.platform.identity.login.login import SingleSignOnRequired, check_login
from gridloom.platform.identity.login.password_rules import LONGEST
from gridloom.platform.identity.login.passwords import LoginsBusy
from gridloom.platform.identity.login.throttling import LoginThrottled
from gridloom.platform.identity.person import PersonNeeded, ReauthenticationRequired, fresh_person_of
from gridloom.platform.identity.second_factor import codes
from gridloom.platform.identity.second_factor.sign_in import ChallengeExpired, complete_sign_in
from gridloom.platform.identity.second_factor.verification import WrongSecondFactor, count_code_attempt, spend_code
from gridloom.platform.identity.store import members
from gridloom.platform.identity.store import second_factors as store
from gridloom.platform.identity.store.login_throttle import give_back_attempt
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.views import NO_STORE, Code, SecondFactorCode

TAG = "Authentication"


class CodeRefused(Unprocessable, title="The code is not right"):
    """The code does not belong to the secret at this time, or was used before. Look at the device's clock."""


class SecondFactorExists(Conflict, title="There is a second factor already"):
    """The caller has a second factor. Remove it before setting up another."""


class NoSecondFactor(Conflict, title="There is no second factor"):
    """There is no second factor to confirm or remove: `POST /auth/totp` begins one."""


class NewTOTP(ResponseBody):
    """The secret of a second factor that is not confirmed yet, shown this once."""

    secret: str
    uri: str


class TOTPConfirmation(RequestBody):
    code: Code


class TOTPRemoval(RequestBody):
    code: Annotated[str, Meta(min_length=1, max_length=40)]
    password: Annotated[str, Meta(min_length=1, max_length=LONGEST)] | None = None


class RecoveryCodes(ResponseBody):
    """Ten codes, each of which replaces the device once; shown this once."""

    recovery_codes: list[str]


@operation(
    "POST",
    "/auth/public/second-factor",
    summary="Log in with a second factor",
    access=PUBLIC,
    problems=(ChallengeExpired, WrongSecondFactor, NetworkNotAllowed, SingleSignOnRequired, LoginThrottled),
    transaction="manual",
    secret_response=True,
)
async def complete_login(request: Request, body: SecondFactorCode) -> Response[views.Tokens]:
    """The tokens of a login, for the challenge that it answered and a code of the device, or a recovery code."""
    pair = await complete_sign_in(request, body.challenge, body.code)
    return Response(views.tokens_of(pair), headers=NO_STORE)


@operation(
    "POST",
    "/auth/totp",
    summary="Begin a second factor",
    access=ENROLLING,
    problems=(PersonNeeded, ReauthenticationRequired, SecondFactorExists),
    secret_response=True,
)
async def create_totp(request: Request) -> Response[NewTOTP]:
    """A new secret for time-based codes (RFC 6238). It counts once a first code has confirmed it."""
    caller = await fresh_person_of(request)
    await lock_organisation(request.db, caller.organisation_id)
    secret = codes.new_secret()
    if not await store.put_unconfirmed(request.db, caller.id, request.resources[Sealing].second_factors.close(secret)):
        raise SecondFactorExists("You have a second factor. Remove it first.")
    answer = NewTOTP(secret=codes.shown_secret(secret), uri=codes.provisioning_uri(secret, caller.username))
    return Response(answer, headers=NO_STORE)


@operation(
    "PUT",
    "/auth/totp",
    summary="Confirm a second factor",
    access=ENROLLING,
    problems=(
        PersonNeeded,
        ReauthenticationRequired,
        SecondFactorExists,
        NoSecondFactor,
        CodeRefused,
        LoginThrottled,
    ),
    transaction="manual",
    secret_response=True,
)
async def confirm_totp(request: Request, body: TOTPConfirmation) -> Response[RecoveryCodes]:
    """From now on signing in asks for a code. Answers ten recovery codes, this once."""
    caller = await fresh_person_of(request)
    begun = await store.find_second_factor(request.pool, caller.id)
    if begun is None:
        raise NoSecondFactor("Begin with POST /auth/totp.")
    if begun.is_confirmed:
        raise SecondFactorExists("The second factor is confirmed already.")
    bucket = await count_code_attempt(request, caller.id)
    secret = request.resources[Sealing].second_factors.open(begun.sealed_secret)
    step = codes.find_step(secret, body.code, (await real_now(request.pool)).timestamp())
    if step is None:
        raise _reject_code()
    recovery_codes = codes.new_recovery_codes()
    db = await request.begin()
    await lock_organisation(db, caller.organisation_id)
    hashes = [codes.recovery_code_hash(caller.id, code) for code in recovery_codes]
    if not await store.confirm(db, caller.id, sealed_secret=begun.sealed_secret, step=step, code_hashes=hashes):
        raise SecondFactorExists("The second factor was confirmed or begun anew a moment ago.")
    await give_back_attempt(db, [bucket])
    return Response(RecoveryCodes(recovery_codes=recovery_codes), headers=NO_STORE)


@operation(
    "DELETE",
    "/auth/totp",
    summary="Remove my second factor",
    access=ENROLLING,
    problems=(
        PersonNeeded,
        ReauthenticationRequired,
        NoSecondFactor,
        CodeRefused,
        WrongCurrentPassword,
        LoginThrottled,
        LoginsBusy,
    ),
    transaction="manual",
)
async def delete_totp(request: Request, body: TOTPRemoval) -> None:
    """Needs a code of the device or a recovery code; the password too, where it is sent."""
    caller = await fresh_person_of(request)
    if body.password is not None:
        account = await members.read_account(request.pool, caller.id)
        if not await check_login(request, caller.username, account, body.password):
            raise WrongCurrentPassword.at("/password", "The password is not right.", "is not right")
    begun = await store.find_second_factor(request.pool, caller.id)
    if begun is None:
        raise NoSecondFactor("You have no second factor.")
    bucket = await count_code_attempt(request, caller.id)
    db = await request.begin()
    await lock_organisation(db, caller.organisation_id)
    if begun.is_confirmed and not await spend_code(request, db, caller.id, body.code):
        raise _reject_code()
    await give_back_attempt(db, [bucket])
    await store.delete_second_factor(db, caller.id)


def _reject_code() -> CodeRefused:
    return CodeRefused.at("/code", "The code is wrong or was used before.", "is not right")
