"""Trains a question answering model with ELMo on two dozen questions, and asks it new ones. Takes seconds on a CPU."""

import json
import tempfile
from pathlib import Path

from elmokit import load_task, task_recipe, train_task

TEXTS = """
Mary Brown was born in Paris in 1820 . | Where was Mary born ? Paris | When was Mary born ? 1820
The old bridge was built by John Miller in 1911 . | Who built the bridge ? John Miller | When was it built ? 1911
Peter lives in Berlin and works for a bank . | Where does Peter live ? Berlin | Who does Peter work for ? a bank
In 1954 Anna Lee moved to London . | Who moved to London ? Anna Lee | When did Anna move ? 1954
The war ended in 1648 with a treaty signed in Madrid . | When did the war end ? 1648 | Where was it signed ? Madrid
The novel was written by Jane Smith in Rome . | Who wrote the novel ? Jane Smith | Where was it written ? Rome
In 1930 the team from Chicago won the cup . | When did the team win ? 1930 | Where is the team from ? Chicago
Tom Jones died in Vienna in 1877 . | Who died in 1877 ? Tom Jones | Where did Tom die ? Vienna
The first train went to Oxford in 1844 . | When did the train go ? 1844 | Where did the train go ? Oxford
The song was sung by Susan White in 1969 . | Who sang the song ? Susan White | When was it sung ? 1969
David King was a doctor in Boston until 1901 . | Who was a doctor ? David King | Where was he a doctor ? Boston
In Tokyo the games were opened in 1964 . | Where were the games ? Tokyo | When were they opened ? 1964
"""
PASSAGE = "The school was founded by Robert Hall in Dublin. He was a teacher and died in 1888."
QUESTIONS = ["Who founded the school?", "Where was it founded?", "When did he die?"]
SETTINGS = [
    *("elmo=both", "word_dim=0", "max_train_examples=0", "hidden_dim=32", "average_decay=0"),
    *("batch_size=4", "learning_rate=0.005", "max_epochs=15", "patience=15"),
]


def squad(text: str) -> str:
    """The texts in SQuAD's JSON format, where each answer has the offset of its first character."""
    paragraphs: list[dict[str, object]] = []
    for line in text.strip().splitlines():
        passage, *pairs = (piece.strip() for piece in line.split("|"))
        entries: list[dict[str, object]] = []
        for pair in pairs:
            question, _, answer = pair.partition("? ")
            answers = [{"text": answer, "answer_start": passage.index(answer)}]
            entries.append({"id": f"{passage} {question}", "question": f"{question}?", "answers": answers})
        paragraphs.append({"context": passage, "qas": entries})
    return json.dumps({"data": [{"title": "", "paragraphs": paragraphs}]})


with tempfile.TemporaryDirectory() as folder:
    for name in ("train.json", "dev.json"):  # the data is so small that it is also the development set
        (Path(folder) / name).write_text(squad(TEXTS), encoding="utf-8")
    config = task_recipe("question-answering", "cpu", SETTINGS)
    run_dir = train_task("question-answering", folder, run_dir=Path(folder) / "run", config=config)
    finder = load_task(run_dir)
    print(PASSAGE)
    for question in QUESTIONS:
        found = finder.predict({"question": question, "context": PASSAGE})
        print(f"{question} {found.answer} ({found.probability:.0%})")
