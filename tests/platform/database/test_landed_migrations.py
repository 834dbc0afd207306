"""A migration that has landed is applied somewhere: it is never edited, only followed by another."""

import hashlib
from pathlib import Path

import gridloom.platform.database

MIGRATIONS = Path(gridloom.platform.database.__path__[0]) / "migrations"
LANDED = Path(__file__).with_name("migration_checksums.txt")


def landed():
    lines = LANDED.read_text().splitlines()
    return {name: checksum for checksum, name in (line.split() for line in lines)}


class TestALandedMigration:
    def test_is_as_it_was(self):
        """`sha256sum *.sql > …/migration_checksums.txt` in the directory of migrations adds those of a new release."""
        changed = [
            name
            for name, checksum in landed().items()
            if not (MIGRATIONS / name).exists()
            or hashlib.sha256((MIGRATIONS / name).read_bytes()).hexdigest() != checksum
        ]
        assert not changed, "write a new migration instead"

    def test_has_a_name_of_its_own_number(self):
        numbers = [path.name.partition("_")[0] for path in MIGRATIONS.glob("*.sql")]
        assert len(numbers) == len(set(numbers))
