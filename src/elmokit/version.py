"""The version of elmokit."""

__version__ = "0.1.0"
