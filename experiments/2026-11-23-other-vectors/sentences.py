"""Write every distinct sentence that runs of a task need vectors for, tokenised, one per line: TASK FOLDER."""

from __future__ import annotations

import sys

from elmokit import task_recipe, task_sentences

task, folder = sys.argv[1:]
config = task_recipe(task, settings=["max_dev_examples=0"])  # the seed decides which of them a run uses
for tokens in task_sentences(task, folder, config):
    print(*tokens)
