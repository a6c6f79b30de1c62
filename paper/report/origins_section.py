"""Records of results -> a part of a page: version, commit, machine, date and time of what each table shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elmokit.formats.model_name import with_fingerprint
from elmokit.system.markdown import ABSENT, markdown_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elmokit.files.json_fields import Fields

HEADER = ("table", "of", "version, commit", "machine", "date", "CPU seconds")
EXPLANATION = (
    "What runs of tasks come from is in the table of runs above. A plus after a commit says that tracked files "
    "differed from it."
)


@dataclass
class _Origin:
    """Records of one table with the same origin."""

    of: dict[str, None] = field(default_factory=dict[str, None])
    """The systems and tasks that they are about."""
    seconds: list[float] = field(default_factory=list[float])
    """CPU seconds of those that have them."""


def origins_section(tables: Mapping[str, Sequence[Fields]]) -> str:
    """A part of a page, from its heading of the second level on. tables: the records of each table, by its name."""
    origins: dict[tuple[str, str, str, str], _Origin] = {}
    for table, records in tables.items():
        for record in records:
            source = f"{record.text('version')}, {record.text('commit')}"
            origin = origins.setdefault((table, source, record.text("machine"), record.text("date")), _Origin())
            origin.of[_subject(record)] = None
            if "processor_seconds" in record:
                origin.seconds.append(record.number("processor_seconds"))
    rows = [
        (table, "; ".join(origin.of), *others, f"{sum(origin.seconds):,.0f}" if origin.seconds else ABSENT)
        for (table, *others), origin in origins.items()
    ]
    return "\n\n".join(["## Versions and machines", markdown_table(HEADER, rows, num_names=5), EXPLANATION])


def _subject(record: Fields) -> str:
    """The system or the task of a record, with the model and the first digits of its fingerprint."""
    names = [record.text(name) for name in ("system", "task", "test_set", "model") if name in record]
    fingerprint = record.text("fingerprint") if "fingerprint" in record else ""
    return ", ".join([*names[:-1], with_fingerprint(names[-1], fingerprint) if fingerprint else names[-1]])
