"""bilm-tf's character numbers, and the ids that arrays contain in their place. Does not import NumPy, for configs."""

from __future__ import annotations

BEGIN_SENTENCE_CHARACTER = 256  # 0..255 are the bytes
END_SENTENCE_CHARACTER = 257
BEGIN_WORD_CHARACTER = 258
END_WORD_CHARACTER = 259
PADDING_CHARACTER = 260

SHIFT = 1
"""Added to every number to make its id in the arrays, including numbers in dictionaries (`text/spelling.py`)."""
PADDING_ID = PADDING_CHARACTER + SHIFT
"""The id of the padding character in the arrays. It fills a token's row after the end of the word."""
NUM_CHARACTERS = 262
"""Number of ids in the arrays: 0 for the padding token, then one for each of the 261 numbers above."""
