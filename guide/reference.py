"""Pages of the guide that are made when it is built: the interface's reference from `openapi.json`, one page a tag."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from gridloom_client.operations import OPERATIONS

ROOT = Path(__file__).parents[1]
METHODS = ("get", "put", "post", "patch", "delete")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    document = json.loads((ROOT / "openapi.json").read_text())
    for name, text in reference_pages(document).items():
        files.append(File.generated(config, name, content=text))
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    document = json.loads((ROOT / "openapi.json").read_text())
    pages = [{tag["name"]: page_name(tag["name"])} for tag in document["tags"]]
    assert config.nav is not None
    config.nav.append({"HTTP interface": pages})
    return config


def page_name(tag: str) -> str:
    return f"interface/{re.sub(r'[^a-z]+', '-', tag.lower()).strip('-')}.md"


def reference_pages(document: dict[str, Any]) -> dict[str, str]:
    """Text of each page by its path."""
    sections: dict[str, list[str]] = defaultdict(list)
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                sections[operation["tags"][0]].append(describe_operation(document, method.upper(), path, operation))
    return {
        page_name(tag["name"]): "\n\n".join((f"# {tag['name']}", tag["description"], *sections[tag["name"]])) + "\n"
        for tag in document["tags"]
    }


def describe_operation(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = [resolve(document, parameter) for parameter in operation.get("parameters", ())]
    parts = [
        f"## {operation['summary']}",
        f"`{method} {path}`",
        absolute_links(operation.get("description", "")),
        describe_parameters(parameters),
        describe_responses(document, operation),
        describe_examples(document, method, path, operation),
    ]
    return "\n\n".join(part for part in parts if part)


def resolve(document: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in value:
        found: Any = document
        for step in value["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        value = found
    return value


def absolute_links(text: str) -> str:
    """Links of the interface's own pages lie beside the guide, not in it."""
    return re.sub(r"\[([^\]]+)\]\((/[^)]+)\)", r'<a href="\2">\1</a>', text)


def describe_parameters(parameters: list[dict[str, Any]]) -> str:
    shown = [one for one in parameters if one["in"] in ("path", "query")]
    if not shown:
        return ""
    rows = [
        f"| `{one['name']}` | {one['in']}{', required' if one.get('required') else ''} | {cell(one)} |" for one in shown
    ]
    return "\n".join(("| Parameter | Where | Meaning |", "|---|---|---|", *rows))


def cell(parameter: dict[str, Any]) -> str:
    return absolute_links(parameter.get("description", "")).replace("\n", " ").replace("|", "\\|")


def describe_responses(document: dict[str, Any], operation: dict[str, Any]) -> str:
    rows = []
    for status, response in sorted(operation["responses"].items()):
        text = absolute_links(resolve(document, response).get("description", "")).replace("\n", " ")
        rows.append(f"| {status} | {text} |")
    return "\n".join(("| Status | Meaning |", "|---|---|", *rows))


def describe_examples(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    body = operation.get("requestBody") and resolve(document, operation["requestBody"])["content"]
    example = body and body.get("application/json", {}).get("example")
    query = "".join(
        f"{separator}{name}={value}"
        for separator, (name, value) in zip(
            ("?", *("&" for _ in range(20))), required_query(document, operation).items(), strict=False
        )
    )
    filled = path + query
    text = json.dumps(example, ensure_ascii=False) if example is not None else None
    tabs = {
        "curl": ("console", curl_example(method, filled, text)),
        "Python": ("python", python_example(method, path)),
        "Command line": ("console", command_example(method, filled, text)),
    }
    blocks = []
    for title, (language, code) in tabs.items():
        if code:
            indented = "\n".join(f"    {line}" for line in (f"```{language}", *code.splitlines(), "```"))
            blocks.append(f'=== "{title}"\n\n{indented}')
    answer = next(
        (
            media["example"]
            for status, response in sorted(operation["responses"].items())
            if status < "300"
            for media in resolve(document, response).get("content", {}).values()
            if isinstance(media.get("example"), dict | list)
        ),
        None,
    )
    if answer is not None:
        blocks.append(f"```json\n{json.dumps(answer, indent=2, ensure_ascii=False)}\n```")
    return "\n\n".join(blocks)


def required_query(document: dict[str, Any], operation: dict[str, Any]) -> dict[str, str]:
    parameters = [resolve(document, parameter) for parameter in operation.get("parameters", ())]
    return {
        one["name"]: str(one.get("example", one.get("schema", {}).get("example", "…")))
        for one in parameters
        if one["in"] == "query" and one.get("required")
    }


def curl_example(method: str, path: str, body: str | None) -> str:
    lines = [f'curl -X {method} "$GRIDLOOM_URL{path}"', '  -H "Authorization: Bearer $TOKEN"']
    if body is not None:
        lines += ['  -H "Content-Type: application/json"', f"  -d '{body}'"]
    return " \\\n".join(lines)


def python_example(method: str, path: str) -> str:
    found = OPERATIONS.get((method, path))
    return f"from gridloom_client import Client\n\nwith Client() as gridloom:\n    gridloom.{found}(…)" if found else ""


def command_example(method: str, path: str, body: str | None) -> str:
    return f"gridloom call {method} '{path}'" + (f" --data '{body}'" if body is not None else "")
