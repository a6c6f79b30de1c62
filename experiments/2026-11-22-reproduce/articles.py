"""What ELMo gains on each article of SQuAD's development set, and how much of the article the biLM may have read.

python experiments/2026-11-22-reproduce/articles.py DATA FOLDER

FOLDER has runs of question answering with their weights, such as those of `python -m paper train table1 --task
question-answering --scale cpu --results FOLDER`. Prints a line of JSON for each article: its title, its questions, the
share of its eight successive words that the English shards have too (letters and digits, lower-cased), and the gain in
F1. Two more records, of the articles with most such words and of all others, are added to this folder's results.jsonl.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from elmokit.files.lines import read_lines
from elmokit.tasks.question_answering.reader import read_questions
from elmokit.tasks.saved import load_task
from paper.bootstrap import ITEM_COUNTS
from paper.differences import paired_bootstrap
from paper.results import append_result
from paper.runs import make_setup, read_evidence
from paper.table1 import headlines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmokit.tasks.question_answering.reader import Question
    from paper.differences import Counts
    from paper.runs import ArmRuns

TASK = "question-answering"
ARTICLES = "squad-articles"
TEST_SET = "dev-v1.1.json"
NUM_WORDS = 8
NUM_MOST = 7
"""Articles that are set apart: the first edition of the shards had text of seven."""


def runs_of_words(text: str) -> Iterator[str]:
    """Every eight successive words."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    for start in range(len(words) - NUM_WORDS + 1):
        yield " ".join(words[start : start + NUM_WORDS])


def shares_read(questions: list[Question], shards: list[Path]) -> dict[str, float]:
    """For each article, the share in percent of the words of its passages, eight at a time, that the shards have."""
    passages = {(question.article, question.passage.text) for question in questions}
    words = {
        title: {run for of, text in passages if of == title for run in runs_of_words(text)} for title, _ in passages
    }
    wanted = set[str]().union(*words.values())
    read = {run for shard in shards for line in read_lines(shard) for run in runs_of_words(line) if run in wanted}
    return {title: 100 * len(runs & read) / len(runs) for title, runs in words.items()}


def answers(arm: ArmRuns, questions: list[Question]) -> list[list[Counts]]:
    """For each run, what each question adds to the score."""
    made = [load_task(run.where).model_predictions(questions) for run in arm.runs]
    counts_of, _ = ITEM_COUNTS[TASK]
    return [[counts_of(*pair) for pair in zip(questions, run, strict=True)] for run in made]


def main(data: Path, folder: Path) -> None:
    questions = list(read_questions(data / "tasks/squad_v1.1" / TEST_SET))
    shares = shares_read(questions, sorted((data / "en").glob("train-*.txt.xz")))
    pair = headlines(read_evidence(make_setup(data), [folder]))[TASK]
    first, second = (answers(arm, questions) for arm in (pair.none, pair.elmo))
    _, score = ITEM_COUNTS[TASK]

    def measure(titles: list[str]) -> dict[str, Any]:
        chosen = [number for number, question in enumerate(questions) if question.article in titles]
        arms = [[[run[number] for number in chosen] for run in arm] for arm in (first, second)]
        none, elmo = (mean(100 * f1 for run in arm for f1, _ in run) for arm in arms)
        return {
            "articles": len(titles),
            "questions": len(chosen),
            "percent_read": round(sum(shares[title] for title in titles) / len(titles), 3),
            "baseline": round(none, 2),
            "elmo": round(elmo, 2),
            "interval": asdict(paired_bootstrap(*arms, score=score)),
        }

    ordered = sorted(shares, key=lambda title: -shares[title])
    for title in ordered:
        print(json.dumps({"title": title, **measure([title])}, ensure_ascii=False))
    names = {
        "task": TASK,
        "test_set": TEST_SET,
        "model": pair.elmo.runs[0].model,
        "runs": [run.name for arm in (pair.none, pair.elmo) for run in arm.runs],
    }
    for titles in (ordered[:NUM_MOST], ordered[NUM_MOST:]):
        append_result(Path(__file__).parent, ARTICLES, {**names, **measure(titles)})


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
