"""The habits of the house that no linter knows, read off the source itself."""

import ast
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from sdk.generate import generate

import gridloom
from gridloom.app import ROUTE_MODULES, SANDBOX_ROUTE_MODULES
from gridloom.commands.operator import openapi_json
from gridloom.kernel.dependency import Dependency
from gridloom.kernel.permission import Permission
from gridloom.platform.http.openapi.field_descriptions import field_descriptions
from gridloom.platform.jobs import jobs_of
from gridloom.settings import Settings
from gridloom.wiring import JOB_MODULES, provide_dependencies

WORDS = frozenset(permission.value for permission in Permission)
SOURCE = Path(next(iter(gridloom.__path__)))
MODULES = sorted(SOURCE.rglob("*.py"))
CLIENT_MODULES = sorted((SOURCE.parent / "gridloom_client").rglob("*.py"))
LOCKED_TYPES = {"LockedAsset", "LockedBatteries", "LockedAssetKey"}


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Walked once for all: a walk takes as long as all that is asked of its nodes."""
    return tuple(ast.walk(ast.parse(path.read_text())))


def speaks_to_postgresql(path: Path) -> bool:
    """Stores and what is below all rooms."""
    place = path.relative_to(SOURCE)
    return (
        place.parts[:2] == ("platform", "database")
        or "store" in place.parts
        or path.stem == "store"
        or path.stem.endswith("_store")
    )


SPEAK_SQL_TOO = {
    "platform/backups/continuous.py",  # waits for a server that is being restored, and resets its settings
    "platform/http/idempotency.py",  # the edge has no room of its own for tables
    "platform/http/shares.py",
    "platform/worker/health.py",  # asks whether the database answers at all
    "platform/identity/token_verification/revocations.py",
    "commands/operator.py",
    "commands/serving/serve.py",  # asks, before anything starts, whether the database takes writes
    "settlements/sql.py",
}
SQL_CALLS = {"fetch", "fetchrow", "fetchval", "execute", "executemany", "copy_records_to_table", "copy_to_table"}


def sends_sql(path: Path) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SQL_CALLS
        for node in nodes_of(path)
    )


def called_names(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def asks_for_the_time_alone(path: Path) -> bool:
    bare = re.compile(r"select\s+(date_trunc\('\w+', platform_now\(\)\)|platform_now\(\)|clock_timestamp\(\))")
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and bare.fullmatch(node.value.strip())
        for node in nodes_of(path)
    )


class TestTheClock:
    def test_is_read_in_one_place(self):
        readers = {path.relative_to(SOURCE).as_posix() for path in MODULES if asks_for_the_time_alone(path)}
        assert readers == {"platform/database/clock.py"}


def spells_out_a_permission(path: Path) -> bool:
    return any(isinstance(node, ast.Constant) and node.value in WORDS for node in nodes_of(path))


class TestPermissions:
    def test_are_spelt_out_where_they_are_defined(self):
        spelling = {path.relative_to(SOURCE).as_posix() for path in MODULES if spells_out_a_permission(path)}
        assert spelling == {"kernel/permission.py"}


class TestAField:
    def test_is_described_in_the_table_of_descriptions_alone(self):
        described = {
            path.relative_to(SOURCE).as_posix()
            for path in MODULES
            for call in nodes_of(path)
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "Meta"
            and {keyword.arg for keyword in call.keywords} & {"description", "examples"}
        }
        assert described == set(), "say what fields mean in gridloom/field_descriptions.toml"

    def test_that_is_described_exists(self):
        whole = (SOURCE.parents[1] / "openapi.json").read_text()
        names = {term.rsplit(".", 1)[-1] for term in field_descriptions().terms}
        assert {name for name in names if f'"{name}"' not in whole} == set()


class TestATestsService:
    def test_reads_from_the_standby_where_the_suite_is_run_with_one(self):
        makers = [
            call
            for path in sorted(Path(__file__).parent.rglob("*.py"))
            if "create_edge(" in path.read_text()
            for call in nodes_of(path)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "create_edge"
        ]
        assert len(makers) > 3
        texts = [
            text
            for text in map(ast.unparse, makers)
            if "without_database" not in text and "Settings(environment" not in text
        ]
        assert [text for text in texts if "read_from_standby(" not in text and "find_standby(" not in text] == []


class TestATest:
    """Goes through a door: an operation, a public function, a job's entry, a command or the SDK. These numbers only
    ever go down; what is left replaces a limit, a clock, the network or a point of crash."""

    MOST_PRIVATE_NAMES = 14
    MOST_REPLACED = 180
    MOST_STAND_INS = 32

    def test_looks_inside_no_more_than_it_did(self):
        found = Counter[str]()
        for path in Path(__file__).parent.rglob("*.py"):
            ours = {
                (alias.asname or alias.name).partition(".")[0]
                for node in nodes_of(path)
                if isinstance(node, (ast.Import, ast.ImportFrom))
                for alias in node.names
                if (getattr(node, "module", None) or alias.name).startswith("gridloom")
            }
            found.update(word for node in nodes_of(path) for word in _find_inside(node, ours))
        assert found["private name"] <= self.MOST_PRIVATE_NAMES
        assert found["replaced"] <= self.MOST_REPLACED
        assert found["stand-in"] <= self.MOST_STAND_INS


def _find_inside(node: ast.AST, ours: set[str]) -> Iterator[str]:
    """`ours` are the names that a test has imported of the product."""
    match node:
        case ast.ImportFrom(module=str() as module, names=names) if module.startswith("gridloom"):
            yield from ("private name" for alias in names if alias.name.startswith("_"))
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in ours:
            yield from ["private name"] * bool(re.match("_[^_]", attribute))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="monkeypatch"), attr="setattr" | "delattr")):
            yield "replaced"
        case ast.Call(func=ast.Name(id="SimpleNamespace" | "Mock" | "MagicMock" | "AsyncMock")):
            yield "stand-in"
        case ast.Call(func=ast.Attribute(attr="patch")):
            yield "stand-in"  # a request is sent by `change` of tests/clients.py


class TestATestsPause:
    def test_is_replaced_for_the_module_under_test_alone(self):
        """A service in the background of the same process would go round without a pause, or end by its exception."""
        for path in Path(__file__).parent.rglob("*.py"):
            replaced = re.search(r"""setattr\((?:asyncio, ["']sleep|["'][\w.]*\basyncio\.sleep)""", path.read_text())
            assert replaced is None, f"{path.name}: {replaced}; see tests/stand_ins.py"


class TestDecisions:
    def test_are_numbered_without_gaps_in_name_and_title(self):
        directory = SOURCE.parents[1] / "docs" / "decisions"
        records = sorted(directory.glob("[0-9]*.md"))
        assert [path.name[:5] for path in records] == [f"{number:04}-" for number in range(1, len(records) + 1)]
        titles = [path.read_text().split(maxsplit=2)[:2] for path in records]
        assert titles == [["#", f"{number}."] for number in range(1, len(records) + 1)]
        listed = re.findall(r"^\| \[\d+\]\((.*?)\)", (directory / "README.md").read_text(), re.M)
        assert listed == [path.name for path in records], "add it to docs/decisions/README.md"


class TestARouteModule:
    def test_is_mounted_by_the_application(self):
        """A module that declares operations and is in no list of the application answers nothing."""
        mounted = {Path(module.__file__ or "") for module in (*ROUTE_MODULES, *SANDBOX_ROUTE_MODULES)}
        declaring = {path for path in MODULES if re.search(r"^@operation\(", path.read_text(), re.M)}
        forgotten = sorted(path.relative_to(SOURCE).as_posix() for path in declaring - mounted)
        assert forgotten == [], "add it to ROUTE_MODULES"


class TestALockedType:
    def test_is_made_only_by_the_stores_that_lock(self):
        makers = {path for path in MODULES if LOCKED_TYPES & set(called_names(path))}
        assert makers
        assert not [path for path in makers if not speaks_to_postgresql(path)]


def declares_jobs(path: Path) -> bool:
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "job"
        for node in nodes_of(path)
        if isinstance(node, ast.AsyncFunctionDef)
        for call in node.decorator_list
    )


class TestTheWiring:
    def test_knows_every_module_that_declares_a_job(self):
        listed = {Path(str(module.__file__)) for module in JOB_MODULES}
        assert {path for path in MODULES if declares_jobs(path)} == listed

    def test_gives_every_room_what_it_needs(self):
        provide_dependencies()
        assert Dependency.registry
        assert all(need.is_provided for need in Dependency.registry)

    def test_is_missed_aloud(self):
        need: Dependency[int] = Dependency("an answer")
        Dependency.registry.remove(need)  # type: ignore[arg-type]
        with pytest.raises(AssertionError, match="an answer: not provided"):
            need.get()
        need.provide(42)
        assert need.get() == 42

    def test_leaves_no_module_to_be_imported_for_what_that_does(self):
        assert not [path for path in MODULES if "noqa: F401" in path.read_text()]


class TestSQL:
    def test_is_spoken_by_stores_only(self):
        speakers = {path for path in MODULES if sends_sql(path) and not speaks_to_postgresql(path)}
        assert {path.relative_to(SOURCE).as_posix() for path in speakers} <= SPEAK_SQL_TOO


def sql_texts(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def computes_a_parameters_number(text: ast.JoinedStr) -> bool:
    """Whether a name comes after a dollar, as in `f"${count}"`."""
    return any(
        isinstance(part, ast.Constant) and str(part.value).endswith("$") and isinstance(after, ast.FormattedValue)
        for part, after in pairwise(text.values)
    )


class TestAStatement:
    MAX_NUMBERED_PARAMETERS = 6
    COMPUTES_NUMBERS = {
        "platform/database/statement.py",  # gives the names their numbers
        "platform/database/commit.py",  # any number of rows in one statement, each with all its columns
    }

    def test_with_more_than_six_parameters_names_them(self):
        wide = {
            path.relative_to(SOURCE).as_posix()
            for path in MODULES
            for text in sql_texts(path)
            if any(int(number) > self.MAX_NUMBERED_PARAMETERS for number in re.findall(r"\$(\d{1,3})\b", text))
        }
        assert wide == set()

    def test_does_not_compute_the_numbers_of_its_parameters(self):
        computing = {
            path.relative_to(SOURCE).as_posix()
            for path in MODULES
            for node in nodes_of(path)
            if isinstance(node, ast.JoinedStr) and computes_a_parameters_number(node)
        }
        assert computing == self.COMPUTES_NUMBERS

    def test_names_the_columns_into_which_it_writes(self):
        nameless = re.compile(r"insert\s+into\s+\w+\s+(values|select)\b", re.IGNORECASE)
        assert [path for path in MODULES for text in sql_texts(path) if nameless.search(text)] == []

    def test_gives_rows_that_are_read_by_name(self):
        positional = re.compile(r"\(\*(row|record)(\.values\(\))?\)|len\(row\)")
        assert [path for path in MODULES if positional.search(path.read_text())] == []


class TestAComposedStatement:
    def test_has_parts_that_are_constants_of_the_code(self):
        """What a request says is a parameter; `compose` and statements fill in names in capitals and nothing else."""
        variable = [
            f"{path.relative_to(SOURCE)}:{node.lineno} {part.arg}"
            for path in MODULES
            for node in nodes_of(path)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if node.func.id in ("compose", "NamedStatement")
            for part in node.keywords
            if part.arg is not None or path.name != "statement.py"  # which hands on the parts that it is given
            if not ast.unparse(part.value).partition("[")[0].strip("_").isupper()
        ]
        assert variable == []

    def test_is_exempt_from_the_linters_rule_in_five_places_at_most(self):
        exempt = [
            f"{path.name}: {line}" for path in MODULES for line in path.read_text().splitlines() if "S608" in line
        ]
        assert len(exempt) <= 5
        assert all("—" in line for line in exempt), "each with its reason"


class TestAPrivateFunction:
    def test_says_what_it_does_to_what(self):
        """A method may be one word, for its object is its own."""
        bare = [
            f"{path.relative_to(SOURCE.parent).as_posix()}: {node.name}"
            for path in [*MODULES, *CLIENT_MODULES]
            for node in nodes_of(path)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and re.fullmatch(r"_[a-z]+", node.name)
            and not (node.args.args and node.args.args[0].arg == "self")
        ]
        assert bare == []


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Texts that stand alone: of modules, classes and functions, and below constants."""
    for node in nodes_of(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


class TestADocstring:
    def test_begins_with_its_subject(self):
        vague = [
            f"{path.relative_to(SOURCE.parent)}:{line}"
            for path in [*MODULES, *CLIENT_MODULES]
            for line, text in docstrings(path)
            if text.lstrip().startswith("What ")
        ]
        assert vague == []


class TestATextOfTheHouse:
    NAMELESS = re.compile(r"\b(somebody|nobody|whoever|everybody|anybody)\b(?!`)", re.IGNORECASE)
    ROOT = SOURCE.parents[1]

    def test_names_who_acts(self):
        """A caller, a member, a process; `nobody` is a user of the operating system."""
        pages = [*sorted((self.ROOT / "docs").rglob("*.md")), self.ROOT / "README.md", self.ROOT / "CONTRIBUTING.md"]
        pages = [
            path for path in pages if path.parent.name != "schema"
        ]  # remarks of migrations, which are never edited
        nameless = [
            f"{path.relative_to(self.ROOT)}: {line.strip()}"
            for path in [*MODULES, *CLIENT_MODULES, *pages]
            for line in path.read_text().splitlines()
            if self.NAMELESS.search(line.replace('"nobody"', ""))
        ]
        assert nameless == []


class TestAJobsKind:
    def test_is_a_package_and_what_is_done_in_it(self):
        kinds = [kind.name for kind in jobs_of(*JOB_MODULES)]
        assert [kind for kind in kinds if not re.fullmatch(r"[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*", kind)] == []
        assert not {"look", "fold", "forget", "tidy"} & {word for kind in kinds for word in re.split(r"[.-]", kind)}


def classes_by_name() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in MODULES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).add(path.relative_to(SOURCE).as_posix())
    return found


class TestAClass:
    def test_has_a_name_of_its_own(self):
        assert {name: sorted(files) for name, files in classes_by_name().items() if len(files) > 1} == {}


def imports_by_module(root: Path, package: str) -> dict[str, set[str]]:
    """Modules of a package with those of it that each imports, imports for types alone included."""
    files = {
        ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(root.rglob("*.py"))
    }
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        targets = set()
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == package:
                targets |= {
                    one if (one := f"{node.module}.{alias.name}") in files else node.module for alias in node.names
                }
        found[module] = (targets & files.keys()) - {module}
    return found


def modules_in_cycles(imports: dict[str, set[str]]) -> set[str]:
    """Modules left after those that import, or are imported by, nothing of the rest are taken away."""
    left = dict(imports)
    while True:
        imported = set().union(*left.values()) if left else set()
        rest = {module: targets & left.keys() for module, targets in left.items() if module in imported}
        rest = {module: targets for module, targets in rest.items() if targets}
        if rest == left:
            return set(left)
        left = rest


class TestImports:
    @pytest.mark.parametrize("package", ["gridloom", "gridloom_client", "bench"])
    def test_have_no_cycle_of_files(self, package: str):
        root = SOURCE.parents[1] / package if package == "bench" else SOURCE.parent / package
        assert modules_in_cycles(imports_by_module(root, package)) == set()

    def test_would_be_seen_to_have_one(self):
        assert modules_in_cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"b", "c"}

    def test_have_no_cycle_of_packages(self):
        packages: dict[str, set[str]] = {}
        for module, targets in imports_by_module(SOURCE, "gridloom").items():
            own = ".".join(module.split(".")[:2])
            packages.setdefault(own, set()).update({".".join(target.split(".")[:2]) for target in targets} - {own})
        packages.pop("gridloom", None)
        assert modules_in_cycles({one: targets - {"gridloom"} for one, targets in packages.items()}) == set()


class TestTheSDKsTypes:
    def test_are_those_of_the_declared_operations(self):
        document = json.loads(openapi_json(Settings()))
        stale = [path.name for path, text in generate(document).items() if path.read_text() != text]
        assert stale == [], "stale: run `gridloom openapi > openapi.json && python -m sdk.generate` (make openapi)"


class TestWhatIsCommitted:
    def test_is_text_but_for_pictures_of_the_guide_and_backups_of_releases(self) -> None:
        """What was built or fetched, a package that a tool left behind above all, does not belong in the history."""
        root = SOURCE.parents[1]
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
        present = [path for path in listed.stdout.split("\0")[:-1] if (root / path).is_file()]
        binary = {path for path in present if b"\0" in (root / path).read_bytes()[:8192]}
        allowed = {"docs/pictures": ".png", "tests/data/releases": ".dump"}
        assert {path for path in binary if allowed.get(str(Path(path).parent)) != Path(path).suffix} == set()
        assert any(path.endswith(".png") for path in binary), "pictures are seen to be no text"
