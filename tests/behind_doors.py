"""Which integrations need large packages, and so are tested in tests/doors, by `make test-doors`."""

from __future__ import annotations

from pathlib import Path

DOORS = Path(__file__).parent / "doors"


def is_behind_doors(integration: str) -> bool:
    """Whether the module of `integrations` of that name is tested there: spacy, ray_data."""
    return (DOORS / f"test_{integration}.py").exists()


def integration_of(path: Path) -> str:
    """The integration that a page or a script is about; one that would be imported in place of spaCy is with_spacy."""
    return path.stem.removeprefix("with_")
