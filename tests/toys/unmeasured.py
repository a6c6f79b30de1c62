"""Processes that nothing measures: coverage would load modules and take half of the time."""

import os


def unmeasured_environment() -> dict[str, str]:
    """The environment without what makes coverage start in a new process."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}
