"""A backup holds password hashes and signing keys: it is its owner's alone, and there whole or not at all."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
from dataclasses import replace

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.commands.accounts import reset_second_factor
from gridloom.platform.backups import dump
from gridloom.platform.backups.contents_store import TableContents, difference
from gridloom.platform.backups.dump import back_up
from gridloom.platform.database.service_database import CommandError


@pytest.fixture(autouse=True)
def open_to_all():
    """As lax as a person can set it."""
    previous = os.umask(0)
    yield
    os.umask(previous)


class TestAParameterThatTheServerLacks:
    def test_is_left_out_of_the_preamble_and_of_nothing_else(self):
        kept = (
            b"--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\n"
            b"SELECT pg_catalog.set_config('search_path', '', false);\n"
        )
        rows = b"COPY public.note (text) FROM stdin;\nSET sail = 1\n\\.\n"
        target = io.BytesIO()
        dump.copy_statements(
            io.BytesIO(kept + b"SET transaction_timeout = 0;\n" + rows), target, frozenset({"statement_timeout"})
        )
        assert target.getvalue() == kept + rows


class TestACopy:
    def test_differs_by_what_is_missing_by_rows_and_by_values(self):
        held = {
            name: TableContents(rows, checksum)
            for name, rows, checksum in (("a", 3, 50), ("b", 3, 50), ("c", 3, 50), ("d", 3, 50), ("e", 3, 50))
        }
        copied = {
            "a": TableContents(3, 50),
            "b": TableContents(4, 50),
            "c": TableContents(2, 60),
            "d": TableContents(3, 40),
            "f": TableContents(1, 1),
        }
        assert difference(held, copied) == [
            "b has 4 rows instead of 3",
            "c has 2 rows instead of 3",
            "d has other values",
            "e is missing",
        ]
        assert difference(held, held) == []


class TestADumpOfADistributedDatabase:
    @pytest.mark.parametrize(
        ("entry", "is_restored"),
        [
            (b"3; 3079 21452 EXTENSION - citus \n", False),
            (b"6; 3079 21453 EXTENSION - citus_columnar \n", False),
            (b"4676; 0 0 COMMENT - EXTENSION citus \n", False),
            (b"4212; 2620 24999 TRIGGER public event_outbox commits_in_two_phases gridloom\n", False),
            (b"4213; 2620 24998 TRIGGER public job job_is_renamed gridloom\n", True),
            (b"4; 3079 24030 EXTENSION - pg_trgm \n", True),
            (b"292; 1259 23520 TABLE public schema_migration gridloom\n", True),
        ],
    )
    def test_is_restored_without_where_its_tables_lay(self, entry, is_restored):
        """So that a plain PostgreSQL takes it, and a cluster whose extension is another role's."""
        assert (dump._LEFT_OUT.match(entry) is None) == is_restored


class TestABackup:
    async def test_is_taken_of_a_database_that_lacks_a_migration_as_other_commands_are_not(self, settings, tmp_path):
        """Before an upgrade, by the newer release."""
        async with migrated_database() as url:
            connection = await asyncpg.connect(url)
            await connection.execute(
                "delete from schema_migration where name = (select max(name) from schema_migration)"
            )
            await connection.close()
            settings = replace(settings, database_url=url)
            assert await asyncio.to_thread(back_up, settings, tmp_path / "backup") > 0
            with pytest.raises(CommandError, match="not up to date"):
                await asyncio.to_thread(reset_second_factor, settings, "anyone")

    async def test_is_compared_as_of_the_moment_of_the_copy_whatever_is_written_meanwhile(self, tmp_path, monkeypatch):
        """Beside a service that goes on writing, before the copy is made and before what it holds is counted."""
        run_tool, file = dump._run_tool, tmp_path / "backup"

        def write(dsn, name):
            async def insert():
                connection = await asyncpg.connect(dsn)
                await connection.execute(
                    "insert into organisation (id, name, kind) values (gen_random_uuid(), $1, 'PARTICIPANT')", name
                )
                await connection.close()

            asyncio.run(insert())

        def write_around(dsn, *arguments):
            write(dsn, "Before the copy")
            run_tool(dsn, *arguments)
            write(dsn, "Behind the copy")

        monkeypatch.setattr(dump, "_run_tool", write_around)
        async with migrated_database() as url:
            await asyncio.to_thread(write, url, "Long known")
            contents = await dump._dump_with_contents(url, file)
            connection = await asyncpg.connect(url)
            rows = await connection.fetch("select name from organisation order by name")
            await connection.close()
            program = dump.programs_for
            read = [await asyncio.to_thread(program, url) / "pg_restore", "--data-only", "--table=organisation", "-f-"]
            copied = (await asyncio.to_thread(subprocess.check_output, [*read, str(file)])).decode()
        assert [row["name"] for row in rows] == ["Before the copy", "Behind the copy", "Long known"]
        assert [row["name"] in copied for row in rows] == [False, False, True]
        assert contents["organisation"].rows == 1

    @pytest.mark.parametrize("end", [subprocess.CalledProcessError(1, "pg_dump"), KeyboardInterrupt()])
    async def test_that_fails_leaves_nothing_but_what_was_there(self, settings, tmp_path, monkeypatch, end):
        def fail(dsn, program, *arguments):
            (partial,) = (path for path in tmp_path.iterdir() if path.name.endswith("partial"))
            partial.write_bytes(b"half")
            raise end

        monkeypatch.setattr(dump, "_run_tool", fail)
        (tmp_path / "backup").write_bytes(b"yesterday's")
        async with migrated_database() as url:
            settings = replace(settings, database_url=url)
            with pytest.raises(type(end)):
                await asyncio.to_thread(back_up, settings, tmp_path / "backup", overwrite=True)
        assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"yesterday's"]

    def test_is_refused_in_a_sentence_where_nothing_can_be_written(self, settings, tmp_path):
        with pytest.raises(CommandError, match="cannot be written"):
            back_up(settings, tmp_path / "no such directory" / "backup")
