"""Jinja2 templates in the folder `templates` of a package; values are escaped, and a missing value is an error."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def template_environment(package: str) -> Environment:
    """The templates of a package, such as `elmokit.web.demo`; rendering raises UndefinedError if a value is missing."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
