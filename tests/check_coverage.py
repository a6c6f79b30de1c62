"""Each file of `src` is run by the tests, line by line: `python tests/check_coverage.py COVERAGE_JSON --at-least 85`.

Reads the report of `coverage json`, prints the files below the bound, and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def too_low(percentages: dict[str, float], *, at_least: float) -> list[str]:
    """A line for each file whose covered percentage is below `at_least`, the lowest first."""
    low = sorted((percent, name) for name, percent in percentages.items() if percent < at_least)
    return [f"{percent:5.1f} %  {name}" for percent, name in low]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("--at-least", type=float, required=True, metavar="PERCENT")
    arguments = parser.parse_args()
    report = json.loads(arguments.report.read_text(encoding="utf-8"))
    found = {name: file["summary"]["percent_covered"] for name, file in report["files"].items()}
    low = too_low(found, at_least=arguments.at_least)
    for line in low:
        print(line)
    total = report["totals"]["percent_covered"]
    print(f"{total:.1f} % of all lines; {len(low)} of {len(found)} files below {arguments.at_least:g} %")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
