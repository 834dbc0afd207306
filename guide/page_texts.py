"""Each page as Markdown beside its HTML, and `llms.txt`, which lists them for programs that read text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

HOME = "/docs/guide/"
NAME = "llms.txt"
MAX_SUMMARY_CHARS = 200

_texts: dict[str, str] = {}
_sections: list[tuple[str, list[tuple[str, str]]]] = []


def on_nav(nav: Navigation, config: MkDocsConfig, **_: Any) -> None:
    _sections[:] = [("Gridloom", [])]
    for item in nav.items:
        if item.is_page:
            _sections[0][1].append((item.title or "", item.file.src_uri))  # type: ignore[attr-defined]
        else:
            _sections.append((item.title or "", list(_list_pages(item))))


def _list_pages(item: Any) -> Iterable[tuple[str, str]]:
    for child in item.children or ():
        if child.is_page:
            yield child.title or "", child.file.src_uri
        else:
            yield from _list_pages(child)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> None:
    _texts[page.file.src_uri] = markdown


def on_post_build(config: MkDocsConfig) -> None:
    site = Path(config.site_dir)
    for name, text in _texts.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    (site / NAME).write_text(write_index(_sections, _texts), encoding="utf-8")


def write_index(sections: Iterable[tuple[str, list[tuple[str, str]]]], texts: dict[str, str]) -> str:
    """`llms.txt` (llmstxt.org): the pages by section, each with its title and its first sentence."""
    lines = [
        "# Gridloom",
        "",
        "> The open platform that weaves physical batteries into virtual ones: one HTTP service, its SDK and commands.",
        "",
        "The interface is described by [OpenAPI](/openapi.json). Every page below is Markdown.",
    ]
    for section, pages in sections:
        listed = [(title, path) for title, path in pages if path in texts]
        if listed:
            lines += ["", f"## {section}", ""]
            lines += [_describe_page(title, path, texts[path]) for title, path in listed]
    return "\n".join(lines) + "\n"


def _describe_page(title: str, path: str, text: str) -> str:
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    summary = summarise(text)
    return f"- [{title or (heading[1] if heading else path)}]({HOME}{path})" + (f": {summary}" if summary else "")


def summarise(text: str) -> str:
    """The first sentence of the first paragraph, without its links."""
    for paragraph in re.split(r"\n\s*\n", text):
        plain = " ".join(paragraph.split())
        if plain and plain[0] not in "#|!<-=>" and not plain.startswith("```") and not paragraph.startswith("    "):
            words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", plain).replace("**", "")
            sentence = re.split(r"(?<=\.)\s", words)[0]
            return sentence if len(sentence) <= MAX_SUMMARY_CHARS else sentence[: MAX_SUMMARY_CHARS - 1] + "…"
    return ""
