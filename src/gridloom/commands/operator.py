"""Commands of an operator on the service's machine, whether it runs or not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from gridloom.platform.database.citus import DistributionRefused, distribute
from gridloom.platform.database.environment import establish_environment
from gridloom.platform.database.migrate import migrate
from gridloom.platform.database.pool import Connection, create_pool, repeatable_read
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.database.service_database import (
    CommandError,
    connect_database,
    require_initialised_dsn,
    resolve_dsn,
)
from gridloom.settings import Settings

if TYPE_CHECKING:
    from gridloom.platform.identity.model import Invitation
    from gridloom.sandbox.simulator.credentials import SignIn
    from gridloom.settlements.rebuilding import RebuildReport
    from gridloom.statements.upgrade_report import LineChange

T = TypeVar("T")


def run_in_transaction(settings: Settings, work: Callable[[Connection], Awaitable[T]]) -> T:
    """Run a change of the initialised database in one transaction."""

    async def run(dsn: str) -> T:
        async with await create_pool(dsn, size=1) as pool, pool.acquire() as connection, connection.transaction():
            return await work(connection)

    with require_initialised_dsn(settings) as dsn:
        return asyncio.run(run(dsn))


async def record_command(
    connection: Connection,
    action: str,
    resource: str,
    details: dict[str, object],
    *,
    status: int = 200,
    organisation_id: UUID | None = None,
) -> None:
    """The audit entry of a change that a command makes."""
    from gridloom.platform.audit.model import Actor, NewAuditRecord
    from gridloom.platform.audit.recording import insert_entry

    entry = NewAuditRecord(
        actor=Actor("SYSTEM", name="command line"),
        action=action,
        method="POST",
        resource=resource,
        status=status,
        subject_organisation_id=organisation_id,
        address=None,
        request_id=None,
        details=details,
    )
    await insert_entry(connection, entry)


def distribute_database(settings: Settings) -> list[str]:
    """Spread a migrated database over the machines of its cluster; the tables that were moved."""

    async def spread(dsn: str) -> list[str]:
        async with connect_database(dsn) as connection:
            try:
                return await distribute(connection)
            except DistributionRefused as refusal:
                raise CommandError(str(refusal)) from refusal

    with require_initialised_dsn(settings) as dsn:
        return asyncio.run(spread(dsn))


def migrate_database(settings: Settings) -> list[str]:
    async def run(dsn: str) -> list[str]:
        async with connect_database(dsn) as connection:
            applied = await migrate(connection)
            await establish_environment(connection, settings.environment)
        return applied

    with resolve_dsn(settings) as dsn:
        return asyncio.run(run(dsn))


def failing_jobs(settings: Settings, revived: tuple[str, str] | None) -> list[Mapping[str, Any]]:
    """The jobs that are dead-lettered or fail again and again; `revived` (kind and key) is set going first."""
    from gridloom.platform.jobs import store as job_store

    async def run(dsn: str) -> list[Mapping[str, Any]]:
        async with connect_database(dsn) as connection:
            if revived is not None and not await job_store.retry_now(connection, *revived):
                raise CommandError(f"No job {revived[0]} {revived[1]} has failed.")
            return list((await job_store.health(connection, most_shown=1000)).troubled)

    with require_initialised_dsn(settings) as dsn:
        return asyncio.run(run(dsn))


def report_upgrade(settings: Settings) -> list[LineChange]:
    """Changes of the open months by settling failures."""
    from gridloom.statements.upgrade_report import StillAssessing, list_changes
    from gridloom.wiring import provide_dependencies

    provide_dependencies()

    async def run(dsn: str) -> list[LineChange]:
        pool = await create_pool(dsn, size=1, command_timeout_s=600, statement_timeout_s=600)
        async with pool, repeatable_read(pool) as db:
            return await list_changes(db)

    with require_initialised_dsn(settings) as dsn:
        try:
            return asyncio.run(run(dsn))
        except StillAssessing:
            raise CommandError(
                "Past quarter-hours are still being assessed: serve the platform, and ask again in some minutes."
            ) from None


def rebuild_revenue(
    settings: Settings, asset_ids: Sequence[UUID], *, only_check: bool, watch: Callable[[RebuildReport], None]
) -> RebuildReport:
    """Compare the aggregates of revenue with the facts and repair them, beside a service that may be running."""
    from gridloom.settlements.rebuilding import UnknownAssets, rebuild

    async def run(dsn: str) -> RebuildReport:
        # Settlements that stand before in the queue may take their time.
        async with await create_pool(
            dsn, size=1, command_timeout_s=300, statement_timeout_s=300, lock_timeout_s=120
        ) as pool:
            try:
                return await rebuild(pool, asset_ids, only_check=only_check, watch=watch)
            except UnknownAssets as error:
                raise CommandError(str(error)) from None

    with require_initialised_dsn(settings) as dsn:
        return asyncio.run(run(dsn))


def openapi_json(settings: Settings) -> str:
    from gridloom.app import create_edge
    from gridloom.platform.guide.openapi_pages import interface_document

    document = interface_document(create_edge(settings), settings)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def invite_member(
    settings: Settings, email: str, role: str, organisation_id: UUID | None
) -> tuple[Invitation, str, str]:
    """The invitation, its token and the organisation's name. A person who can run this owns the database already."""
    return run_in_transaction(settings, lambda connection: _invite_person(connection, email, role, organisation_id))


async def _invite_person(
    connection: Connection, email: str, role: str, organisation_id: UUID | None
) -> tuple[Invitation, str, str]:
    from gridloom.kernel.ids import InvitationID, uuid7
    from gridloom.platform.audit.model import NIL_ID
    from gridloom.platform.events.outbox import record_event
    from gridloom.platform.identity.member_notices import RECORD_EVENT, ChangeAuthor, notify_invited
    from gridloom.platform.identity.permissions import Role
    from gridloom.platform.identity.store import organisations
    from gridloom.platform.identity.store.invitations import put_invitation
    from gridloom.platform.identity.tokens import hash_of, new_invitation_token

    if organisation_id is None:  # the operator's is the oldest: the first start makes it
        oldest = await organisations.list_organisations(connection, only=None, after=None, limit=1)
        organisation = oldest[0] if oldest else None
    else:
        organisation = await organisations.read_organisation(connection, organisation_id)
    if organisation is None:
        raise CommandError("There is no such organisation in this database.")
    token = new_invitation_token()
    await organisations.lock_organisation(connection, organisation.id)
    invitation = await put_invitation(
        connection,
        invitation_id=InvitationID(uuid7()),
        organisation_id=organisation.id,
        email=email,
        role=Role(role),
        token_hash=hash_of(token),
        invited_by=NIL_ID,
    )
    RECORD_EVENT.provide(record_event)
    await notify_invited(connection, None, ChangeAuthor("COMMAND", "gridloom invite"), invitation)
    await record_command(
        connection,
        "inviteFromCommandLine",
        f"organisations/{organisation.id}/invitations",
        {"invitationID": str(invitation.id), "role": role},
        status=201,
        organisation_id=organisation.id,
    )
    return invitation, token, organisation.name


async def invite_simulator(connection: Connection, home: Path) -> list[SignIn]:
    """See to it that the simulator of this home can sign in as the operator's member: invited, as people are."""
    from gridloom.platform.identity.store.members import find_account
    from gridloom.sandbox.simulator.credentials import (
        SimulatorCredentials,
        member_name,
        new_secret,
        newcomer_sign_ins,
        read_credentials,
        write_credentials,
    )

    credentials = read_credentials(home) or SimulatorCredentials(new_secret())
    if await find_account(connection, member_name(credentials, "operator")) is None:
        async with connection.transaction():
            _, token, _ = await _invite_person(connection, "simulator@example.org", "ADMIN", None)
        credentials = SimulatorCredentials(credentials.secret, token)
        write_credentials(home, credentials)
    elif credentials.invitation is not None:  # accepted since: a simulator that offered it again would be refused
        credentials = SimulatorCredentials(credentials.secret)
        write_credentials(home, credentials)
    return newcomer_sign_ins(credentials)


def rotate_key(settings: Settings, *, distrust: bool) -> str:
    """Replace the signing key of a service that may be running; gives the new key's identifier."""
    from gridloom.platform.identity.signing_key_cache import rotate_signing_key

    async def rotate(connection: Connection) -> str:
        seal = Sealing(settings.secrets_key, settings.former_secrets_keys).signing_keys
        kid = await rotate_signing_key(connection, seal, distrust=distrust)
        details: dict[str, object] = {"kid": kid, "distrust": distrust}
        await record_command(connection, "rotateSigningKey", "/auth/public/jwks", details, status=201)
        return kid

    return run_in_transaction(settings, rotate)
