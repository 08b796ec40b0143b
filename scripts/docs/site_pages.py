"""An MkDocs hook: pages outside docs/ become pages of the site, and links to sources become plain names.

The committed documents are read on forges as well, where a link may lead anywhere in the tree. A site has only its pages, so that
a link to a source file (tests, apps, scripts) keeps its text and loses its target; a target that is not in the tree is an error.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path, PurePosixPath

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
LOG = logging.getLogger("mkdocs.hooks.site")
# Files in the root directory that are pages of the site, and their names on the site.
OUTSIDE = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md", "README.md": "readme.md"}
# Code, which stays as it is, or a link (not an image).
MARKS = re.compile(r"^ *```.*?^ *```\s*?$|(?<!!)\[(?P<text>[^\]]*)\]\((?P<link>[^)\s]+)\)|`[^`\n]*`", re.M | re.S)
TITLE = re.compile(r"^# (.+)$", re.M)


def title(path: Path) -> str:
    return TITLE.search(path.read_text(encoding="utf-8"))[1]


def decisions() -> list[Path]:
    return sorted((ROOT / "docs/adr").glob("0*.md"))


def on_config(config):
    """Adds the rest of the menu: each decision, and the pages of the root directory."""
    inside = next(part["Internals"] for part in config.nav if "Internals" in part)
    inside.append({"Decisions": [{"Decisions and why": "adr/README.md"}, *({title(path): f"adr/{path.name}"} for path in decisions())]})
    inside += [{"Contributing": "contributing.md"}, {"Security": "security.md"}, {"Changelog": "changelog.md"}, {"README": "readme.md"}]
    return config


def on_files(files, config):
    for source, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def place(page_uri: str) -> PurePosixPath:
    """Returns the folder of a page's source, relative to the root of the tree."""
    for source, name in OUTSIDE.items():
        if page_uri == name:
            return PurePosixPath(source).parent
    return (PurePosixPath("docs") / page_uri).parent


def resolved(folder: PurePosixPath, target: str) -> str:
    parts: list[str] = []
    for part in (*folder.parts, *PurePosixPath(target).parts):
        if part == "..":
            if not parts:
                return "/"
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def site_name(path: str) -> str | None:
    """Returns the name that the site gives a file of the tree; None if the file is not in the site."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path == "docs/adr":
        return "adr/README.md"
    if path.startswith("docs/") and (ROOT / path).is_file():
        return path.removeprefix("docs/")
    return None


def up(page_uri: str, name: str) -> str:
    return "../" * (len(PurePosixPath(page_uri).parts) - 1) + name


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    folder = place(uri)

    def rewritten(match: re.Match) -> str:
        text, link = match["text"], match["link"]
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        target, _, anchor = link.partition("#")
        path = resolved(folder, target)
        if name := site_name(path):
            return f"[{text}]({up(uri, name)}{'#' + anchor if anchor else ''})"
        if not (ROOT / path).exists():
            LOG.warning("%s links to '%s', which is not in the tree", uri, link)
        return text if text.startswith("`") or path.endswith(text) else f"{text} (`{path}`)"

    return MARKS.sub(lambda match: rewritten(match) if match["text"] is not None else match[0], markdown)
