"""Where the caller is signed in, and ending it there: `/auth/sessions`."""

from __future__ import annotations

from uuid import UUID

from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.platform.http import SIGNED_IN, Page, Paging, Request, operation
from gridloom.platform.identity import views
from gridloom.platform.identity.model import SessionEnd
from gridloom.platform.identity.person import PersonNeeded, require_user
from gridloom.platform.identity.store import sessions
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.identity.store.second_factors import delete_challenges

TAG = "Authentication"


@operation("GET", "/auth/sessions", summary="List my sessions", access=SIGNED_IN, problems=(PersonNeeded,))
async def list_sessions(request: Request, query: Paging) -> Page[views.SessionView]:
    """Where the caller is signed in, the oldest first. `lastUsedAt` is exact to five minutes."""
    caller = require_user(request)
    found = await sessions.list_sessions(request.db, caller.id, after=query.after(UUID), limit=query.limit + 1)
    page = query.page(found, lambda session: session.id)
    return Page([views.view_of_session(session, caller.session_id) for session in page.items], page.next_cursor)


@operation(
    "DELETE",
    "/auth/sessions",
    summary="End my other sessions",
    access=SIGNED_IN,
    problems=(PersonNeeded,),
)
async def end_other_sessions(request: Request) -> None:
    """Ends all sessions of the caller but its own: their tokens stop working everywhere within a second."""
    caller = require_user(request)
    await lock_organisation(request.db, caller.organisation_id)
    await delete_challenges(request.db, caller.id)
    await sessions.end_other_sessions(request.db, caller.id, kept=caller.session_id, cause=SessionEnd.ENDED_BY_USER)


@operation(
    "DELETE",
    "/auth/sessions/{sessionID}",
    summary="End one of my sessions",
    access=SIGNED_IN,
    problems=(PersonNeeded,),
)
async def end_session(request: Request, session_id: UUID) -> None:
    """Its tokens stop working everywhere within a second."""
    caller = require_user(request)
    owner_id = await sessions.find_session_owner(request.db, session_id)
    if owner_id is None:
        raise NotFound(f"There is no session {session_id}, or it has ended.")
    if owner_id != caller.id:
        raise Forbidden(f"The session {session_id} is not yours.")
    await sessions.end_session(request.db, session_id, SessionEnd.ENDED_BY_USER)
