"""How the console is built: from a lock that every machine can use and that names no registry, never stale."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.platform.console.journeys.conftest import NO_BROWSER, find_chromium

ROOT = Path(__file__).parents[3]
WEB = ROOT / "web"
LOCK = (WEB / "bun.lock").read_text()
MACHINES = [f"{system}-{processor}" for system in ("linux", "darwin") for processor in ("x64", "arm64")]


def committed() -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "web", "src/gridloom/platform/console"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.split()


class TestTheLock:
    def test_names_no_address_of_a_registry(self):
        assert re.findall(r"https?://[^\s\"]+", LOCK) == []

    @pytest.mark.parametrize("machine", MACHINES)
    @pytest.mark.parametrize("package", ["@esbuild/", "@rollup/rollup-", "@biomejs/cli-", "@typescript/typescript-"])
    def test_holds_the_native_parts_for_every_machine(self, package, machine):
        system, processor = machine.split("-")
        assert re.search(rf'"{re.escape(package)}{system}-{processor}(-gnu)?@', LOCK), f"{package} for {machine}"

    def test_is_of_versions_that_do_not_move(self):
        wanted = json.loads((WEB / "package.json").read_text())
        versions = {**wanted["dependencies"], **wanted["devDependencies"]}
        assert [name for name, version in versions.items() if not re.fullmatch(r"(npm:\w+@)?\d[\w.-]*", version)] == []


class TestWhatIsCommitted:
    def test_holds_nothing_that_was_built_or_fetched(self):
        assert [path for path in committed() if re.search(r"node_modules|/static/|schema\.d\.ts", path)] == []

    def test_speaks_of_no_foreign_host(self):
        """But for the names of XML dialects, which are not fetched."""
        for path in committed():
            if path.endswith((".ts", ".tsx", ".css", ".html", ".json")):
                found = re.findall(
                    r"https?://(?!www\.w3\.org/|schemas\.openxmlformats\.org/)[\w.-]+", (ROOT / path).read_text()
                )
                assert [host for host in found if "127.0.0.1" not in host] == [], path


class TestTheTypes:
    def test_are_those_of_the_committed_interface(self):
        """`make check` writes them anew whenever openapi.json has changed, so they are never of another one."""
        subprocess.run([sys.executable, str(WEB / "tools.py"), "types"], check=True)
        mark = (WEB / "src/shared/api/schema.d.ts").read_text().splitlines()[0]
        assert mark == f"// {hashlib.sha256((ROOT / 'openapi.json').read_bytes()).hexdigest()}"


class TestTheBuild:
    def test_is_not_made_again_because_a_tool_has_run(self):
        """Python keeps what it compiles beside the tools; a build at that moment would take files from a browser."""
        script = "import sys; sys.path.insert(0, 'web'); import build; print(build._fingerprint())"
        found = set()
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
            found.add(done.stdout)
            (WEB / "__pycache__").mkdir(exist_ok=True)
            (WEB / "__pycache__" / "made_by_a_test.pyc").write_bytes(b"compiled")
        (WEB / "__pycache__" / "made_by_a_test.pyc").unlink()
        assert len(found) == 1

    def test_is_light_enough_for_a_first_screen(self):
        """Under 200 kB of compressed JavaScript until the overview stands."""
        static = ROOT / "src/gridloom/platform/console/static"
        subprocess.run([sys.executable, str(WEB / "build.py"), "--strict"], check=True)
        entry = re.findall(r'src="/console/(assets/[^"]+\.js)"', (static / "index.html").read_text())
        first = {*entry, *(str(path.relative_to(static)) for path in static.glob("assets/Overview-*.js"))}
        reached, queue = set[str](), list(first)
        while queue:
            name = queue.pop()
            if name in reached:
                continue
            reached.add(name)
            text = (static / name).read_text()
            queue += [f"assets/{each}" for each in re.findall(r'(?:from|import)\s*"\./([^"]+\.js)"', text)]
        assert sum(len(gzip.compress((static / name).read_bytes())) for name in reached) < 200_000

    def test_is_in_a_wheel(self, tmp_path):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        [wheel] = tmp_path.glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        assert "gridloom/platform/console/static/index.html" in names
        assert any(re.fullmatch(r"gridloom/platform/console/static/assets/Overview-.*\.js", name) for name in names)


class TestABrowserForTheJourneys:
    def test_is_the_one_that_is_named(self, monkeypatch):
        monkeypatch.setenv("GRIDLOOM_CHROMIUM", "/opt/chromium")
        assert find_chromium() == "/opt/chromium"

    def test_is_missed_in_a_sentence_that_says_what_to_do(self, monkeypatch):
        monkeypatch.delenv("GRIDLOOM_CHROMIUM", raising=False)
        monkeypatch.setenv("PATH", "")
        assert find_chromium() is None
        assert "GRIDLOOM_CHROMIUM" in NO_BROWSER
        assert "apt install chromium" in NO_BROWSER
