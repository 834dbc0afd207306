"""The examples under deploy/ are what their programs accept, and name only what the service has."""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY
from tests.each import for_each
from tests.grammars import leave_out_grammars
from tests.ports import free_port

from gridloom.app import create_edge
from gridloom.settings import VARIABLES, Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
METRIC = re.compile(r"gridloom_[a-z_]+")


def program(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        sentence = f"{name} is not installed (Debian has it)."
        if os.environ.get("GRIDLOOM_NEVER_SKIP"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    return found


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr


class TestMetricsInExamples:
    @pytest.mark.parametrize("name", ["alerts.yml", "alerts_test.yml", "dashboard.json"])
    def test_are_metrics_of_the_service(self, name):
        create_edge(Settings(environment="sandbox"))
        known = {sample for names in REGISTRY._collector_to_names.values() for sample in names}
        text = (DEPLOY / "prometheus" / name).read_text()
        assert {metric for metric in METRIC.findall(text) if metric not in known} == set()


class TestAlertRules:
    def test_fire_when_they_should(self):
        run(program("promtool"), "test", "rules", DEPLOY / "prometheus" / "alerts_test.yml")


class TestTheDashboard:
    def test_has_a_query_in_every_panel(self):
        dashboard = json.loads((DEPLOY / "prometheus" / "dashboard.json").read_text())
        assert all(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])


def documents(path):
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


MANIFESTS = [document for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")) for document in documents(path)]


class TestManifests:
    @for_each(MANIFESTS)
    def test_are_valid_for_the_kubernetes_interface(self, manifest):
        leave_out_grammars()
        import kubernetes_validate

        kubernetes_validate.validate(manifest, "1.30", strict=True)

    def test_turn_off_variables_that_kubernetes_would_add(self):
        pods = [one["spec"]["template"]["spec"] for one in MANIFESTS if one["kind"] in ("Deployment", "Job")]
        assert [pod["enableServiceLinks"] for pod in pods] == [False] * 2

    def test_set_only_variables_that_the_service_reads(self):
        (config,) = (one["data"] for one in MANIFESTS if one["kind"] == "ConfigMap")
        compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
        assert set(config) | set(compose["x-service"]["environment"]) - {"PGPASSWORD"} <= set(VARIABLES)

    def test_set_what_compose_sets(self):
        (config,) = (set(one["data"]) for one in MANIFESTS if one["kind"] == "ConfigMap")
        secret = re.findall(r"--from-literal=(\w+)=", (DEPLOY / "kubernetes" / "gridloom.yaml").read_text())
        compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["x-service"]["environment"]
        image = set(re.findall(r"GRIDLOOM_\w+(?==)", (DEPLOY / "Containerfile").read_text()))
        assert (config | set(secret)) - {"GRIDLOOM_PORT"} - image == set(compose) - {"PGPASSWORD"} - image

    def test_have_what_the_image_writes_to_on_a_read_only_root(self):
        written = json.loads(re.findall(r"^VOLUME (.*)$", (DEPLOY / "Containerfile").read_text(), re.M)[0])
        pods = [one["spec"]["template"]["spec"] for one in MANIFESTS if one["kind"] in ("Deployment", "Job")]
        for pod in pods:
            (container,) = pod["containers"]
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert {mount["mountPath"] for mount in container["volumeMounts"]} == set(written)
        service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["x-service"]
        assert service["read_only"]
        assert {*service["tmpfs"], *(volume.partition(":")[2] for volume in service["volumes"])} == set(written)


NODE_EXPORTER_PORT = 9100
"""Debian's package of Prometheus recommends a node exporter, which starts on it at once."""


class TestThePortOfTheMetrics:
    def test_is_the_same_everywhere_and_left_free_by_debian_s_prometheus(self):
        names = ("compose.yaml", "kubernetes/gridloom.yaml", "../docs/operations.md")
        found = {
            int(port)
            for name in names
            for port in re.findall(r"GRIDLOOM_METRICS_PORT[:=] ?\"?(\d+)", (DEPLOY / name).read_text())
        }
        (scraped,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
        found |= {int(target.partition(":")[2]) for one in scraped["static_configs"] for target in one["targets"]}
        assert len(found) == 1
        assert NODE_EXPORTER_PORT not in found


class TestTheImage:
    def test_installs_the_locked_packages_and_the_wheel_alone(self):
        text = (DEPLOY / "Containerfile").read_text()
        assert "--require-hashes" in text
        assert "USER 10001" in text

    def test_has_no_tool_that_only_builds(self):
        groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
        tools = {re.split("[<>=]", tool)[0] for tool in groups["build"]}
        locked = re.findall("^([a-z0-9-]+)==", (ROOT / "requirements/server.lock").read_text(), re.MULTILINE)
        assert "numpy" in locked
        assert not tools & set(locked)


SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = self.headers["X-Forwarded-For"].encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


class TestNginx:
    def test_terminates_tls_and_tells_the_client_s_own_address_only(self, tmp_path):
        nginx, openssl, port = program("nginx"), program("openssl"), free_port()
        run(
            *(
                openssl,
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "1",
                "-subj",
                "/CN=gridloom.example.com",
            ),
            *("-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem"),
        )
        with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as upstream:
            assert upstream.stdout is not None
            behind = upstream.stdout.readline().strip()
            site = (DEPLOY / "proxy" / "nginx.conf").read_text().replace("/etc/ssl/gridloom", str(tmp_path))
            site = site.replace("127.0.0.1:8001", f"127.0.0.1:{behind}").replace(
                "127.0.0.1:8002", f"127.0.0.1:{behind}"
            )
            site = site.replace("listen 443", f"listen 127.0.0.1:{port}")
            site = site.replace("listen 80;", f"listen unix:{tmp_path}/plain.sock;")
            (tmp_path / "nginx.conf").write_text(
                f"pid {tmp_path}/pid; error_log {tmp_path}/error.log; daemon off; events {{}}\n"
                f"http {{ access_log off; client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;\n"
                f"fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;\n"
                f"{site}\n}}"
            )
            with subprocess.Popen([nginx, "-p", tmp_path, "-c", tmp_path / "nginx.conf"]) as proxy:
                try:
                    assert self.ask(port) == b"127.0.0.1"
                finally:
                    proxy.terminate()
                    upstream.terminate()

    def ask(self, port):
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        headers = {"X-Forwarded-For": "203.0.113.7", "Host": "gridloom.example.com"}
        request = urllib.request.Request(f"https://127.0.0.1:{port}/", headers=headers)
        deadline = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(request, context=trusting, timeout=5) as answer:
                    return answer.read()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


class TestCaddy:
    def test_takes_its_example(self, tmp_path):
        environment = {
            **os.environ,
            "GRIDLOOM_DOMAIN": "localhost",
            "GRIDLOOM_UPSTREAMS": "127.0.0.1:8001 127.0.0.1:8002",
            "HOME": str(tmp_path),
        }
        run(program("caddy"), "adapt", "--config", DEPLOY / "proxy" / "Caddyfile", "--validate", env=environment)


class TestTheUnit:
    def test_is_one_that_systemd_takes(self, tmp_path):
        verify = program("systemd-analyze")
        unit = (DEPLOY / "gridloom.service").read_text().replace("/opt/gridloom/bin/gridloom", "/bin/true")
        (tmp_path / "gridloom.service").write_text(unit)
        done = subprocess.run([verify, "verify", tmp_path / "gridloom.service"], capture_output=True, text=True)
        assert [line for line in done.stderr.splitlines() if "gridloom.service:" in line] == []

    def test_keeps_trying_for_as_long_as_a_start_fails(self):
        """Systemd gives up after five starts within ten seconds."""
        values = dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / "gridloom.service").read_text(), re.M))
        assert values["Restart"] == "on-failure"
        assert 5 * int(values["RestartSec"]) > 10

    def test_lets_the_service_write_to_its_home(self):
        text = (DEPLOY / "gridloom.service").read_text()
        assert "ProtectSystem=strict" in text
        (home,) = re.findall(r"GRIDLOOM_HOME=(\S+)", text)
        assert home == f"/var/lib/{re.findall(r'^StateDirectory=(.*)$', text, re.M)[0]}"
