"""Dumps: the whole database in one file, taken while the service runs, restored whole or not at all.

`pg_dump` writes PostgreSQL's custom format. A restore turns it into SQL first and leaves out settings that the server
does not know: the newest client sets parameters (`transaction_timeout`) that older servers refuse.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, TypeVar

from gridloom.platform.backups.contents_store import (
    Connection,
    Contents,
    difference,
    exported_snapshot,
    has_schema,
    read_contents,
    read_parameter_names,
    read_server_major,
)
from gridloom.platform.database.citus import TWO_PHASE_TRIGGER
from gridloom.platform.database.libpq import client_environment
from gridloom.platform.database.server.binaries import Binaries, find_binaries, find_binaries_of
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.database.service_database import (
    CommandError,
    connect_database,
    require_initialised_dsn,
    resolve_dsn,
)
from gridloom.settings import Settings

Answer = TypeVar("Answer")

_OWNED: Final = ("--no-owner", "--no-privileges")
# Of a distributed database (Citus): where its tables lie is no part of a backup, and a server without the extension
# takes it too. A comment on an extension may be set by its owner only, which need not be the role that restores.
_LEFT_OUT: Final = re.compile(
    rb"\d+; \d+ \d+ (EXTENSION - citus|COMMENT - EXTENSION |TRIGGER \S+ \S+ %s )" % TWO_PHASE_TRIGGER.encode()
)
# What precedes the first statement of a dump that makes something.
_PREAMBLE: Final = (b"SET ", b"SELECT pg_catalog.set_config(", b"--", b"\\restrict", b"\n")


def back_up(settings: Settings, file: Path, *, verify: bool = False, overwrite: bool = False) -> int:
    """Write a consistent copy of the database and return its size in bytes.

    A file that exists stays unless `overwrite` is set.

    With `verify` the copy is restored into a scratch server and compared with the database as it was when the copy was
    taken; a copy that differs is deleted.
    """
    if file.exists() and not overwrite:
        raise CommandError(f"{file} exists. Name another file, or overwrite it with --force.")
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        # Ours alone from its first byte: it holds password hashes and signing keys.
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise CommandError(f"{file} cannot be written ({error.strerror}).") from None
    try:
        with require_initialised_dsn(settings, of_any_release=True) as dsn:
            contents = asyncio.run(_dump_with_contents(dsn, partial)) if verify else None
            if contents is None:
                _run_dump(dsn, partial)
        if contents is not None:
            _compare_with_copy(contents, partial)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return file.stat().st_size


def restore(settings: Settings, file: Path) -> None:
    """Fill an empty database, whole or not at all."""
    if not file.is_file():
        raise CommandError(f"There is no file {file}.")
    with resolve_dsn(settings) as dsn:
        if _run_query(dsn, has_schema):
            raise CommandError(
                "The database is not empty. Restore into a new one: set GRIDLOOM_HOME to a new directory, "
                "or GRIDLOOM_DATABASE_URL to a new database."
            )
        run_restore(dsn, file)


def run_restore(dsn: str, file: Path) -> None:
    """Run the dump's SQL in one transaction."""
    newest = find_binaries()
    with tempfile.NamedTemporaryFile() as entries:
        entries.write(_list_entries(newest / "pg_restore", file))
        entries.flush()
        read = [newest / "pg_restore", *_OWNED, "--use-list", entries.name, "--file=-", str(file)]
        _pipe_statements(dsn, file, read, newest)


def _list_entries(program: str, file: Path) -> bytes:
    """The dump's table of contents, without what is not restored."""
    listed = subprocess.run([program, "--list", str(file)], capture_output=True, check=False)  # noqa: S603
    if listed.returncode != 0:
        raise CommandError(f"{file} was not restored, and nothing was changed. {listed.stderr.decode().strip()}")
    return b"".join(line for line in listed.stdout.splitlines(keepends=True) if not _LEFT_OUT.match(line))


def _pipe_statements(dsn: str, file: Path, read: list[str], newest: Binaries) -> None:
    write = [newest / "psql", "--no-psqlrc", "--quiet", "--single-transaction"]
    known = _run_query(dsn, read_parameter_names)
    with (
        tempfile.TemporaryFile() as problems,
        subprocess.Popen(read, stdout=subprocess.PIPE, stderr=problems) as source,  # noqa: S603
        subprocess.Popen(  # noqa: S603
            [*write, "--set=ON_ERROR_STOP=1", "--output", os.devnull, "--file=-"],
            stdin=subprocess.PIPE,
            stderr=problems,
            env=client_environment(dsn),
        ) as target,
    ):
        assert source.stdout is not None
        assert target.stdin is not None
        try:
            copy_statements(source.stdout, target.stdin, known)
            # Nothing is committed before psql has read to the end: a dump that breaks off must not end the input.
            if source.wait() != 0:
                target.kill()
        except BrokenPipeError:
            source.kill()
        finally:
            with_error = _close_input(target.stdin)
        if source.wait() != 0 or target.wait() != 0 or with_error:
            problems.seek(0)
            detail = problems.read().decode(errors="replace").strip().splitlines()
            raise CommandError(f"{file} was not restored, and nothing was changed. {' '.join(detail[:3])}")


def copy_statements(source: IO[bytes], target: IO[bytes], known_parameters: frozenset[str]) -> None:
    """Copy SQL; in its preamble leave out parameters that the server does not have."""
    for line in source:
        if line.startswith(b"SET ") and line[4:].split()[0].decode() not in known_parameters:
            continue
        target.write(line)
        if not line.startswith(_PREAMBLE):
            break
    shutil.copyfileobj(source, target, 1 << 20)


def _close_input(stream: IO[bytes]) -> bool:
    try:
        stream.close()
    except BrokenPipeError:
        return True
    return False


def _run_query(dsn: str, question: Callable[[Connection], Awaitable[Answer]]) -> Answer:
    """Run one query on a connection of its own."""

    async def ask() -> Answer:
        async with connect_database(dsn) as connection:
            return await question(connection)

    return asyncio.run(ask())


async def _dump_with_contents(dsn: str, file: Path) -> Contents:
    """Dump and count in one snapshot, so that a service that goes on writing changes neither."""
    async with connect_database(dsn) as connection, exported_snapshot(connection) as snapshot:
        await asyncio.to_thread(_run_dump, dsn, file, snapshot)
        return await read_contents(connection)


def _run_dump(dsn: str, file: Path, snapshot: str | None = None) -> None:
    extra = [] if snapshot is None else [f"--snapshot={snapshot}"]
    _run_tool(dsn, "pg_dump", "--format=custom", *_OWNED, *extra, "--file", str(file))


def _run_tool(dsn: str, program: str, *arguments: str) -> None:
    command = [programs_for(dsn) / program, *arguments]
    done = subprocess.run(  # noqa: S603
        command, check=False, capture_output=True, text=True, env=client_environment(dsn)
    )
    if done.returncode != 0:
        raise CommandError(f"{program} failed: {done.stderr.strip()}")


def programs_for(dsn: str) -> Binaries:
    """The programs of the server's own major version where this machine has them: its `pg_restore` reads their dumps.

    A newer client can dump an older server, but the older server's own tools cannot read that file.
    """
    return find_binaries_of(_run_query(dsn, read_server_major)) or find_binaries()


def _compare_with_copy(expected: Contents, file: Path) -> None:
    with _scratch_server() as dsn:
        run_restore(dsn, file)
        found = difference(expected, _run_query(dsn, read_contents))
    if found:
        raise CommandError(f"The backup does not restore to what was backed up: {'; '.join(found[:5])}.")


@contextmanager
def _scratch_server() -> Iterator[str]:
    """A server of its own for the comparison: the service's role may not have the right to create a database."""
    with tempfile.TemporaryDirectory(prefix="gridloom-verify-") as home:
        server = EmbeddedPostgres(Path(home), settings={"fsync": "off", "full_page_writes": "off"})
        try:
            yield server.start()
        finally:
            server.stop()
