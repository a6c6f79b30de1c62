"""Check what share of each file of `src` the tests run: `python tests/check_coverage.py COVERAGE_JSON --at-least 85`.

Reads the report of `coverage json`, prints the files below the bound, and exits with 1 if there are any.
"""

import argparse
import json
import sys
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("--at-least", type=float, required=True, metavar="PERCENT")
    arguments = parser.parse_args()
    report = json.loads(arguments.report.read_text(encoding="utf-8"))
    found = sorted((file["summary"]["percent_covered"], name) for name, file in report["files"].items())
    low = [f"{percent:5.1f} %  {name}" for percent, name in found if percent < arguments.at_least]
    total = report["totals"]["percent_covered"]
    print(*low, f"{total:.1f} % of all lines; {len(low)} of {len(found)} files are below the bound", sep="\n")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
