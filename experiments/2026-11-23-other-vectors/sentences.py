"""Write every distinct sentence that runs of a task need vectors for, tokenised, one per line: TASK FOLDER."""

from __future__ import annotations

import sys

from elmokit import task_recipe, task_sentences

task, folder = sys.argv[1:]
sentences: dict[str, None] = {}
for recipe in ("cpu", "cpu-converged"):  # their development sets of SQuAD differ
    for seed in range(3):  # the seed chooses the training examples, if the recipe limits their number
        config = task_recipe(task, recipe, [f"seed={seed}", "max_dev_examples=0"])
        sentences |= dict.fromkeys(" ".join(tokens) for tokens in task_sentences(task, folder, config))
print(*sentences, sep="\n")
