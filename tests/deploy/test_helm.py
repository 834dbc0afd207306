"""The chart, rendered by Helm: what the manifests have, what the page says, nothing that Kubernetes would refuse."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.test_examples import DEPLOY, MANIFESTS
from tests.grammars import leave_out_grammars

from gridloom.settings import VARIABLES

CHART = DEPLOY / "helm"
PAGE = (DEPLOY.parent / "docs" / "kubernetes.md").read_text()


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """It comes with the development lock where it has a wheel (Linux on x86-64), and else from the machine."""
    beside = Path(sys.executable).with_name("helm")
    found = beside if beside.exists() else shutil.which("helm")
    if found is None:
        pytest.skip("No package has Helm for this machine, and it is not installed.")
    return subprocess.run([found, *arguments], capture_output=True, text=True, check=False)


def render(*arguments: str | Path) -> list[dict[str, Any]]:
    done = helm("template", "gridloom", CHART, *arguments)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def named(documents: list[dict[str, Any]], kind: str, name: str = "gridloom") -> dict[str, Any]:
    (found,) = [one for one in documents if one["kind"] == kind and one["metadata"]["name"] == name]
    return found


def without_the_charts_own(document: dict[str, Any]) -> dict[str, Any]:
    """Without what only Helm has use for: hooks, the sum of the settings, and the policy of pulling."""
    text = json.dumps(document).replace('"name": "gridloom-migrate"}}', '"name": "gridloom"}}')
    plain: dict[str, Any] = json.loads(text)
    plain["metadata"].pop("annotations", None) if plain["kind"] == "Job" else None
    pod = plain.get("spec", {}).get("template", {})
    pod.get("metadata", {}).pop("annotations", None)
    for container in pod.get("spec", {}).get("containers", ()):
        container.pop("imagePullPolicy", None)
    return plain


def sorted_documents(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(documents, key=lambda one: (one["kind"], one["metadata"]["name"]))


def values_of_the_page() -> dict[str, Any]:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    values: dict[str, Any] = yaml.safe_load(block)
    return values


@pytest.fixture
def written(tmp_path: Path) -> Path:
    file = tmp_path / "gridloom-values.yaml"
    file.write_text(yaml.safe_dump(values_of_the_page()))
    return file


class TestTheChart:
    def test_is_approved_by_helm(self):
        done = helm("lint", "--strict", CHART)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_makes_what_the_manifests_have(self):
        made = [one for one in render() if one["metadata"]["name"] != "gridloom-migrate" or one["kind"] != "ConfigMap"]
        assert sorted_documents([without_the_charts_own(one) for one in made]) == sorted_documents(MANIFESTS)

    def test_migrates_with_the_coming_settings_before_anything_else(self):
        made = render("--set", "settings.GRIDLOOM_LOG_LEVEL=debug")
        hooks = [one for one in made if "helm.sh/hook" in one["metadata"].get("annotations", {})]
        assert sorted(one["kind"] for one in hooks) == ["ConfigMap", "Job"]
        before, after = (named(made, "ConfigMap", name)["data"] for name in ("gridloom-migrate", "gridloom"))
        assert before == after
        assert before["GRIDLOOM_LOG_LEVEL"] == "debug"
        assert not [one for one in render("--set", "migrate.enabled=false") if one["kind"] == "Job"]

    def test_replaces_the_replicas_when_a_setting_changes(self):
        sums = {
            named(render("--set", f"settings.GRIDLOOM_LOG_LEVEL={level}"), "Deployment")["spec"]["template"][
                "metadata"
            ]["annotations"]["checksum/settings"]
            for level in ("info", "debug", "info")
        }
        assert len(sums) == 2

    def test_knows_only_variables_of_the_service(self):
        assert set(yaml.safe_load((CHART / "values.yaml").read_text())["settings"]) <= set(VARIABLES)

    @pytest.mark.parametrize(
        "wrong",
        ["settings.GRIDLOOM_SECRETS_KEY=x", "settings.PATH=x", "replicas=0", "replica=3", "existingSecret="],
    )
    def test_refuses_values_that_are_none(self, wrong: str):
        done = helm("template", "gridloom", CHART, "--set", wrong)
        assert done.returncode != 0
        assert "values don't meet the specifications of the schema" in done.stderr


class TestThePageOfKubernetes:
    def test_leads_to_documents_that_kubernetes_takes(self, written: Path):
        leave_out_grammars()
        import kubernetes_validate

        (command,) = re.findall(r"^\$ helm upgrade --install gridloom deploy/helm (.+)$", PAGE, re.MULTILINE)
        made = render(*command.replace("gridloom-values.yaml", str(written)).split())
        for document in made:
            kubernetes_validate.validate(document, "1.30", strict=True)
        values = values_of_the_page()
        assert named(made, "Deployment")["spec"]["replicas"] == values["replicas"]
        assert named(made, "ConfigMap")["data"].items() >= values["settings"].items()
        assert set(values["settings"]) <= set(VARIABLES)
        (container,) = named(made, "Deployment")["spec"]["template"]["spec"]["containers"]
        assert container["image"].startswith(values["image"]["repository"] + ":")
        ingress = named(made, "Ingress")["spec"]
        assert (ingress["ingressClassName"], ingress["tls"][0]["secretName"]) == ("nginx", "batteries-tls")

    def test_places_pods_where_it_is_told(self):
        made = render(
            "--set",
            "nodeSelector.disk=fast",
            "--set",
            "tolerations[0].operator=Exists",
            "--set",
            "ingress.enabled=false",
        )
        release = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
        for kind, name in (("Deployment", "gridloom"), ("Job", f"gridloom-migrate-{release}")):
            pod = named(made, kind, name)["spec"]["template"]["spec"]
            assert (pod["nodeSelector"], pod["tolerations"]) == ({"disk": "fast"}, [{"operator": "Exists"}])
        assert not [one for one in made if one["kind"] == "Ingress"]

    def test_names_every_value(self):
        values = set(yaml.safe_load((CHART / "values.yaml").read_text()))
        assert {re.split("[.`]", name)[0] for name in re.findall(r"`([\w.]+)`", PAGE)} >= values
