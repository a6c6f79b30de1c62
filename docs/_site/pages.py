"""Hook of MkDocs: the site also has the pages of the root, a reference of the public names, and the commands.

Pages are written for a reader of the repository. So links out of `docs` become links to pages of the site, or to
`repo_url`; without a `repo_url` they become plain text.
"""

from __future__ import annotations

import ast
import io
import os
import posixpath
import re
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
}
"""A file of the root, and its page on the site."""
REFERENCE = "reference.md"
FIRST = "Elmo"
"""What a newcomer looks up; the other names of the reference are in alphabetical order."""
COMMANDS = "commands.md"
WIDTH_OF_HELP = "100"
INTEGRATIONS = "Integrations"
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation: all integrations, and the pages that it does not name."""
    nav = config.nav or []
    unnamed = [path.name for path in sorted((ROOT / "docs").glob("*.md")) if f"'{path.name}'" not in str(nav)]
    for part in nav:
        if isinstance(part, dict) and INTEGRATIONS in part:
            found = sorted((ROOT / "docs" / "integrations").glob("*.md"))
            part[INTEGRATIONS] = [f"integrations/{path.name}" for path in found]
    config.nav = [*nav, {"More": unnamed}] if unnamed else nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not files of `docs`."""
    from mkdocs.structure.files import File

    contents = {page: (ROOT / name).read_text(encoding="utf-8") for name, page in ROOT_PAGES.items()}
    for page, content in (contents | {REFERENCE: reference(), COMMANDS: commands()}).items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the links lead to places that the site, or the repository, has."""
    return with_links(markdown, page.file.src_uri, repo_url=config.repo_url)


def with_links(markdown: str, page: str, *, repo_url: str | None) -> str:
    """The text of a page of the site, with its links to files of the repository as links of the site."""
    sources = {site: name for name, site in ROOT_PAGES.items()}
    folder = posixpath.dirname(sources.get(page, f"docs/{page}"))

    def replaced(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link["target"]))
        text = _LINK.sub(replaced, link["text"])  # which may be a picture
        if "://" in link["target"] or not (ROOT / path).exists():
            return link[0].replace(link["text"], text, 1)
        anchor = link["anchor"] or ""
        if path in ROOT_PAGES or (path.startswith("docs/") and (ROOT / path).is_file()):
            site = posixpath.relpath(ROOT_PAGES.get(path, path.removeprefix("docs/")), posixpath.dirname(page) or ".")
            return f"{link['image']}[{text}]({site}{anchor})"
        return f"[{text}]({repo_url.rstrip('/')}/blob/main/{path}{anchor})" if repo_url else text

    return _LINK.sub(replaced, markdown)


def reference() -> str:
    """A page with the docstring of each public name, read from the module that has it."""
    tree = ast.parse((ROOT / "src" / "elmokit" / "__init__.py").read_text(encoding="utf-8"))
    homes = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES"
    )
    parts = ["# Reference", "Every public name, with its arguments. [The public names](api.md) has an example of each."]
    for name, home in sorted(homes.items(), key=lambda item: item[0] != FIRST):
        parts.append(f"## elmokit.{name}\n\n::: {home.replace(':', '.')}")
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    """A page with the help of each command, which needs neither torch nor NumPy."""
    sys.path.insert(0, str(ROOT / "src"))
    os.environ["COLUMNS"] = WIDTH_OF_HELP

    from elmokit.cli.main import COMMANDS, main

    parts = ["# Commands", "What `elmokit COMMAND --help` prints. `--debug` shows where in the code an error arose."]
    for name in (command.name for command in COMMANDS):
        shown = io.StringIO()
        with redirect_stdout(shown), suppress(SystemExit):
            main([name, "--help"])
        parts.append(f"## elmokit {name}\n\n```text\n{shown.getvalue().rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
