"""A release is refused unless its version stands everywhere and nothing is left uncommitted."""

from __future__ import annotations

import importlib.util
import subprocess
import tomllib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "deploy" / "release.py"


@pytest.fixture
def release():
    spec = importlib.util.spec_from_file_location("release", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "gridloom"\nversion = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0 - 2026-11-16\n")
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "gridloom.yaml").write_text("image: gridloom:0.2.0\nimage: docker.io/library/postgres:17\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], check=True)
    return tmp_path


class TestARelease:
    def test_passes_where_the_version_is_the_same_everywhere(self, release, repository):
        release.check_release("0.2.0", repository)

    @pytest.mark.parametrize("version", ["", "v0.2.0", "0.2", "0.3.0"])
    def test_is_refused_under_another_version(self, release, repository, version):
        with pytest.raises(SystemExit):
            release.check_release(version, repository)

    def test_is_refused_without_a_dated_section_in_the_changelog(self, release, repository):
        (repository / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
        with pytest.raises(SystemExit, match="no section"):
            release.check_release("0.2.0", repository)

    @pytest.mark.parametrize("line", ["image: gridloom:0.1.0", "appVersion: 0.1.0", "GRIDLOOM_VERSION=0.1.0"])
    def test_is_refused_where_an_example_of_its_deployment_names_another(self, release, repository, line):
        (repository / "deploy" / "gridloom.yaml").write_text(f"{line}\n")
        with pytest.raises(SystemExit, match=r"names 0\.1\.0 in place of 0\.2\.0"):
            release.check_release("0.2.0", repository)

    def test_is_named_by_the_examples_before_it_is_made(self, release):
        package = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]["version"]
        assert release.find_named_versions(SOURCE.parents[1]) == {package.partition(".dev")[0]}

    def test_is_made_once(self, release, repository):
        subprocess.run(["git", "-C", str(repository), "tag", "v0.2.0"], check=True)
        with pytest.raises(SystemExit, match="tagged already"):
            release.check_release("0.2.0", repository)

    def test_is_refused_with_uncommitted_changes(self, release, repository):
        (repository / "new").write_text("")
        with pytest.raises(SystemExit, match="uncommitted"):
            release.check_release("0.2.0", repository)

    def test_has_the_checksum_of_every_file(self, release, tmp_path):
        (tmp_path / "gridloom-0.2.0.tar.gz").write_bytes(b"")
        release.write_checksums(tmp_path)
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        assert (tmp_path / "SHA256SUMS").read_text() == f"{empty}  gridloom-0.2.0.tar.gz\n"
