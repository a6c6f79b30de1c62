"""Trains an entailment model with ELMo on two dozen sentence pairs, and judges new ones. Takes seconds on a CPU."""

import tempfile
from pathlib import Path

from elmokit import load_task, task_recipe, train_task

PAIRS = """
entailment | A man is playing a guitar. | A man is playing music.
entailment | Two dogs are running in the park. | Animals are running outside.
entailment | A woman is eating an apple. | A woman is eating fruit.
entailment | Three children are swimming in a lake. | Children are in the water.
entailment | A girl is reading a long book. | A girl is reading.
entailment | An old man is driving a red car. | A person is driving.
entailment | The boys are playing football. | The boys are playing a game.
entailment | A young woman is riding a horse. | A woman is on an animal.
neutral | A man is playing a guitar. | A man is playing for his wife.
neutral | Two dogs are running in the park. | The dogs are looking for food.
neutral | A woman is eating an apple. | The woman is very hungry.
neutral | Three children are swimming in a lake. | The children are from London.
neutral | A girl is reading a long book. | A girl is reading for school.
neutral | An old man is driving a red car. | The man is going to his office.
neutral | The boys are playing football. | The boys will win the game.
neutral | A young woman is riding a horse. | The woman is tired and happy.
contradiction | A man is playing a guitar. | A man is sleeping.
contradiction | Two dogs are running in the park. | Two dogs are sleeping at home.
contradiction | A woman is eating an apple. | Nobody is eating.
contradiction | Three children are swimming in a lake. | The children are sitting in a train.
contradiction | A girl is reading a long book. | The girl is watching television.
contradiction | An old man is driving a red car. | The man is walking.
contradiction | The boys are playing football. | The boys are asleep in bed.
contradiction | A young woman is riding a horse. | Nobody is riding.
"""
NEW = [
    ("An old man is playing the piano.", "A man is playing music."),
    ("A young girl is eating an apple.", "The girl is sleeping."),
    ("Two women are walking in the park.", "The women are looking for their office."),
]
SETTINGS = [
    *(
        "elmo=both",
        "word_dim=0",
        "batch_size=4",
        "max_epochs=20",
        "patience=20",
        "learning_rate=0.005",
        "halve_after=0",
    ),
    *("encoder_dim=48", "projection_dim=48", "inference_dim=48", "hidden_dim=48"),
]


def table(text: str) -> str:
    """Tab-separated columns with a header."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return "".join("\t".join(row) + "\n" for row in [["label", "premise", "hypothesis"], *rows])


with tempfile.TemporaryDirectory() as folder:
    for name in ("train.tsv", "dev.tsv"):  # the data is so small that it is also the development set
        (Path(folder) / name).write_text(table(PAIRS), encoding="utf-8")
    config = task_recipe("entailment", "cpu", SETTINGS)
    run_dir = train_task("entailment", folder, run_dir=Path(folder) / "run", config=config)
    classifier = load_task(run_dir)
    for premise, hypothesis in NEW:
        made = classifier.predict({"premise": premise, "hypothesis": hypothesis})
        print(f"{made.label} ({made.probabilities[made.label]:.0%}): {premise} -> {hypothesis}")
