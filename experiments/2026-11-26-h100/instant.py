"""Plugin of pytest: a failure is written as it happens, so that a run that is cut off has shown it."""

import os
from typing import Any


def pytest_runtest_logreport(report: Any) -> None:
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        with open(os.environ["FAILURES"], "a", encoding="utf-8") as file:
            file.write(f"==== {report.nodeid} ({report.when})\n{str(report.longrepr)[-900:]}\n")
