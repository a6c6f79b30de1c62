"""Trains a coreference resolver with ELMo on a dozen short texts, and resolves new ones. Takes seconds on a CPU."""

import tempfile
from pathlib import Path

from elmokit import find_task, load_task, task_recipe, train_task

TEXTS = """
(1 Ann) saw (2 the cat) . / (2 It) did not see (1 her) .
(1 My brother) works in Paris . / (1 He) likes (2 the city) , but (2 it) is too big .
(1 Mary) told Tom that (1 she) was tired . / Nobody answered .
(1 The company) said that (1 it) had sold (2 the house) . / (2 It) was very old .
(1 The boys) lost (2 their dog) . / (1 They) found (2 it) in the park .
(1 The man) opened the door . / (1 He) was angry , and (2 his wife) was too . / (2 She) left .
(1 The girls) sang a song . / (1 They) were happy .
(1 Peter) bought (2 a car) . / (1 He) drove (2 it) to Berlin .
(1 The queen) is old . / (1 She) lives in a castle .
(1 The teacher) asked (2 the children) , but (2 they) did not know . / (1 She) smiled .
(1 The dog) barked . / Then (1 it) slept .
(1 John) met (2 Susan) in May . / (1 He) married (2 her) in June .
"""
NEW = [
    "David sold the bike . It was old .",
    "My sister read the letter . She burned it .",
    "The students were late . They missed the train .",
]
SETTINGS = [
    *("elmo=input", "word_dim=0", "max_width=3", "input_dropout_rate=0.2", "spans_per_word=0.6"),
    *("learning_rate=0.003", "decay=1", "max_epochs=25", "patience=25"),
]


def columns(text: str) -> str:
    """The texts in the format of CoNLL-2012; a mention is written in brackets, after the number of its cluster."""
    task = find_task("coreference")
    documents: list[str] = []
    for line in text.strip().splitlines():
        sentences: list[list[str]] = [[]]
        clusters: dict[str, list[tuple[int, int]]] = {}
        position = first = 0
        cluster = ""
        for piece in line.split():
            if piece == "/":
                sentences.append([])
            elif piece.startswith("("):
                cluster, first = piece[1:], position
            else:
                sentences[-1].append(piece.rstrip(")"))
                if piece.endswith(")"):
                    clusters.setdefault(cluster, []).append((first, position))
                position += 1
        documents += task.to_text([(task.from_json({"sentences": sentences}), list(clusters.values()))])
    return "\n".join(documents)


with tempfile.TemporaryDirectory() as folder:
    for name in ("train.gold_conll", "dev.gold_conll"):  # the data is so small that it is also the development set
        (Path(folder) / name).write_text(columns(TEXTS), encoding="utf-8")
    config = task_recipe("coreference", "cpu", SETTINGS)
    run_dir = train_task("coreference", folder, run_dir=Path(folder) / "run", config=config)
    resolver = load_task(run_dir)
    for document in resolver.predict_all(NEW):
        print(document.text)
        for mentions in document.clusters:
            print("   ", " = ".join(f"{mention.text} ({mention.start}:{mention.end})" for mention in mentions))
