"""Names, files, recipes and settings of all tasks, and what they refuse to predict."""

import json
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.files.json import as_type
from elmokit.pretraining.config import PretrainingConfig
from elmokit.tasks.config import ElmoInput, TaskConfig, TrainingConfig, until_converged, with_settings
from elmokit.tasks.entailment.task import SentencePair
from elmokit.tasks.named_entities.task import TaggedSentence
from elmokit.tasks.question_answering.task import FoundAnswer
from elmokit.tasks.sentiment.task import LabelledText
from elmokit.tasks.task import TASKS, Task, find_task, task_recipe
from elmokit.tasks.task_model import LabelPrediction, WordTags


@pytest.mark.parametrize(("name", "short"), TASKS.items())
def test_each_task_has_a_short_name_in_any_case_and_can_be_pickled(name: str, short: str):
    assert find_task(short.upper()).name == find_task(name.replace("-", "_")).name == name
    assert pickle.loads(pickle.dumps(find_task(name))).name == name


@pytest.mark.parametrize(
    ("short", "train", "dev", "test"),
    [
        ("ner", "eng.train", "eng.testa", "eng.testb"),
        ("nli", "snli_1.0_train.jsonl", "snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"),
        ("sst", "train.txt", "dev.txt", "test.txt"),
        ("sst", "ratings_train.txt", None, "ratings_test.txt"),
        ("srl", "train.verbs.gold_conll", "dev.verbs.gold_conll", "test.verbs.gold_conll"),
        ("coref", "train.gold_conll", "dev.gold_conll", "test.gold_conll"),
        ("qa", "train.json", "dev.json", "test.json"),
        ("qa", "KorQuAD_v1.0_train.json#20:", "KorQuAD_v1.0_train.json#:20", "KorQuAD_v1.0_dev.json"),
    ],
)
def test_finds_data_sets_by_their_files(tmp_path: Path, short: str, train: str, dev: str | None, test: str):
    task = find_task(short)
    kind = task.name.replace("-", " ")
    with pytest.raises(ValueError, match=f"has no data set of {kind}; expected one of these sets of files: "):
        task.find(tmp_path)
    for name in filter(None, (train, dev, test)):
        (tmp_path / name.partition("#")[0]).touch()
    splits = task.find(tmp_path)
    found = [[path.name for path in part] for part in (splits.train, splits.dev, splits.test)]
    assert found == [[train], [dev] if dev else [], [test]]
    (tmp_path / test).unlink()
    assert task.find(tmp_path).test == ()


SENTENCES = [["Ann", "saw", "the", "cat", "."], ["It", "saw", "her", "."]]
CLUSTERS = [[(0, 0), (7, 7)], [(2, 3), (5, 5)]]
TEXT = "Ann saw the cat. It saw her."
CAT = ["It", "'s", "a", "cat", "."]
SO = LabelPrediction("0", {"0": 0.75, "1": 0.25})
NEUTRAL = LabelPrediction("neutral", {"neutral": 1.0})
ASKED = {"question": "Who won?", "context": "Then Ann\nLee won."}
FOUND = FoundAnswer("Ann\nLee", (1, 2), 0.5)
GIVEN: list[tuple[str, Any, Any]] = [  # text, JSON fields, or an example of a file; and what a model predicts
    ("ner", "It isn't  “Jane   Lee”.", ["O", "O", "O", "O", "B-PER", "L-PER", "O", "O"]),
    ("ner", {"tokens": ["Jane", "Lee", "sang", "."], "text": "Jane  Lee sang."}, ["O", "U-PER", "O", "O"]),
    ("ner", TaggedSentence(["Jane", "New York"], ["U-given name", "O"]), ["U-given name", "U-LOC"]),
    ("sst", "It isn't bad.", SO),
    ("sst", {"tokens": ["so", "so"]}, SO),
    ("sst", LabelledText(['"', "so"], None), SO),
    ("nli", "A dog.\tIt's a cat.", NEUTRAL),
    ("nli", {"premise": "A dog.", "hypothesis": CAT}, NEUTRAL),
    ("nli", {"gold_label": "neutral", "sentence1": "A dog.", "sentence2": "It's a cat."}, NEUTRAL),
    ("nli", SentencePair(['"', "A"], CAT, None), NEUTRAL),
    ("qa", "Who won?\tAnn  Lee won.", FoundAnswer("Ann  Lee", (0, 1), 0.5)),
    *(("qa", ASKED | {"id": identity}, FOUND) for identity in (7, "a\nb")),
    ("srl", "Ann  *sat*", ["B-A0", "B-V"]),
    ("srl", "“No”, Ann  *said*, “never”.", ["O", "B-A1", "O", "O", "B-A0", "B-V", "O", "O", "B-C-A1", "O", "O"]),
    ("srl", {"tokens": ["-", "c"], "predicate": 0}, ["B-V", "O"]),
    ("coref", TEXT, CLUSTERS),
    ("coref", {"sentences": SENTENCES, "speakers": ["Bob", "Ann"], "name": "bc/x"}, CLUSTERS),
    ("coref", {"text": TEXT, "name": "bc/x"}, CLUSTERS),
    ("coref", {"text": "Ann's  dog.", "tokens": ["Ann", "'s", "dog", "."]}, [[(0, 0), (2, 2)]]),
    ("pos", "It  rains.", WordTags("upos", ["PRON", "VERB", "PUNCT"], [True, False, True])),
]


@pytest.mark.parametrize(("short", "given", "made"), GIVEN)
def test_text_and_json_are_read_and_predictions_written(short: str, given: Any, made: Any, snapshot: SnapshotAssertion):
    task = find_task(short)
    example = task.from_text(given) if isinstance(given, str) else given
    example = task.from_json(given) if isinstance(given, dict) else example
    result = task.result(example, made)
    written = result.to_dict()
    assert [repr(example), *task.to_text([(example, made)]), json.dumps(written, ensure_ascii=False)] == snapshot
    assert repr(result).startswith(f"<{type(result).__name__} ")
    for span in [*written.get("entities", []), *chain(*written.get("clusters", []))]:
        assert written["text"][span["start"] : span["end"]] == span["text"]
    if short != "qa" and isinstance(given, str | dict):
        assert task.sentences(task.from_json(written)) == task.sentences(example)


@pytest.mark.parametrize(
    ("short", "given"),
    [
        *(
            ("ner", given)
            for given in (" ", {"words": []}, {"tokens": ["New York"]}, {"tokens": ["Jane"], "text": "Ann"})
        ),
        *(("sst", given) for given in ("", {"tekst": "so so"}, {"tokens": ["so", 1]}, {"tokens": []})),
        *(("nli", given) for given in ("A dog.", {"premise": "A dog."}, {"premise": "A", "hypothesis": " "})),
        *(("nli", {"premise": premise, "hypothesis": "A"}) for premise in ([], 1, ["a b"])),
        *(("qa", given) for given in ("Who won?", {"question": "Who won?"}, {"question": "Who?", "context": " "})),
        *(("srl", line) for line in ("Ann sang", "Ann *sang", "Ann ** sang", "*Ann* *sang*", "Ann *sang it*")),
        *(("srl", given) for given in ("Ann *\u200b* sang", {"tokens": ["Ann"]}, {"tokens": ["Ann"], "predicate": 1})),
        *(("coref", given) for given in (" ", {"sentences": [["Ann"], []]}, {"sentences": ["Ann slept"]})),
        *(("coref", {"sentences": [["Ann"]], "speakers": speakers}) for speakers in ([1], ["a", "b"])),
        *(("coref", {"text": "Ann slept."} | others) for others in ({"speakers": ["a"]}, {"tokens": ["Bob"]})),
        *(("coref", given) for given in ({"tokens": ["Ann Lee"]}, {"sentences": []})),
    ],
)
def test_what_asks_for_nothing_is_refused(short: str, given: Any, snapshot: SnapshotAssertion):
    task = find_task(short)
    make: Callable[[Any], Any] = task.from_text if isinstance(given, str) else task.from_json
    with pytest.raises(ValueError) as refused:
        make(given)
    assert str(refused.value) == snapshot


Toy = Task[Any, Any]


def test_settings_reach_the_model_the_inputs_and_the_training(toy: Toy):
    settings = ["hidden_dim=5", "inputs.elmo=both", "learning_rate=1e-3", "character_filters=[[1,2],[3,4]]"]
    config = with_settings(toy.recipe("cpu"), settings)
    assert (config.model.hidden_dim, config.training.learning_rate) == (5, 0.001)
    assert config.inputs.elmo == ElmoInput(position="both")
    assert config.inputs.character_filters == ((1, 2), (3, 4))
    written = json.loads(json.dumps(asdict(config)))
    for name, part in (("model", config.model), ("inputs", config.inputs), ("training", config.training)):
        assert as_type(written[name], type(part), where="here") == part
    with pytest.raises(ValueError, match="unknown recipe 'gpu' of toy; expected one of cpu"):
        toy.recipe("gpu")
    config = TaskConfig(model=TrainingConfig())
    with pytest.raises(ValueError, match="more than one seed; write model.seed or training.seed"):
        with_settings(config, ["seed=1"])
    assert with_settings(config, ["model.seed=1"]).model.seed == 1


def test_the_settings_on_the_page_of_the_tasks_are_there():
    page = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
    table = page[page.index("| setting | means |") :].partition("\n\n")[0]
    named = re.findall(r"`([\w.]+)`", " ".join(row.split("|")[1] for row in table.splitlines()))
    values: dict[str, Any] = json.loads(json.dumps(asdict(task_recipe("sentiment", "cpu"))))
    of_elmo = {f"elmo.{name}" for name in values["inputs"]["elmo"]}
    assert len(named) > 15 and {*named} <= {*of_elmo, *values["inputs"], *values["model"], *values["training"]}


def test_settings_of_elmo_have_a_short_form(toy: Toy):
    config = toy.recipe("cpu")
    assert config.inputs.elmo is None
    settings = ["elmo.position=output", "elmo.dropout_rate=0.2", "elmo.layers=1"]
    long = with_settings(config, [f"inputs.{setting}" for setting in settings])
    short = with_settings(config, ["elmo.dropout_rate=0.2", "elmo=output", "elmo.layers=1"])
    assert long.inputs.elmo == short.inputs.elmo == ElmoInput("output", dropout_rate=0.2, layers="1")
    assert short.model.dropout_rate == config.model.dropout_rate
    assert with_settings(short, ["dropout_rate=0.1"]).model.dropout_rate == 0.1  # the model's, as before
    changed = with_settings(short, ["elmo.model=mini-ko"]).inputs.elmo
    assert changed == ElmoInput("output", "mini-ko", dropout_rate=0.2, layers="1")
    assert with_settings(short, ["elmo.penalty=1", "elmo=none"]).inputs.elmo is None
    with pytest.raises(ValueError, match="this config has no ELMo; add elmo=input, elmo=output or elmo=both"):
        with_settings(config, ["elmo.penalty=1"])
    assert with_settings(config, ["word_dim=0", "character_dim=0", "elmo=input"]).inputs.word_dim == 0


@pytest.mark.parametrize(
    ("task", "setting", "reason"),
    [
        ("ner", "first=5", "unknown field 'first'; did you mean first_dim"),
        ("ner", "batch_size=0", "setting batch_size=0: batch_size is 0; expected at least 1"),
        ("ner", "optimizer=lion", "optimizer is 'lion'; expected one of adam, adamw, adadelta, sgd"),
        ("ner", "learning_rate=0", "it must be positive"),
        ("ner", "elmo_dropout_rate=0.2", "unknown field 'elmo_dropout_rate'; did you mean elmo.dropout_rate"),
        ("ner", "elmo=top", "elmo is 'top'; expected none, input, output, both"),
        ("ner", "elmo=input elmo.layers=best", "elmo.layers is 'best'; expected mix, top, average, a number, or a"),
        ("ner", "elmo=input elmo.penalty=-1", "elmo.penalty is -1.0; it must not be negative"),
        ("ner", "elmo=output word_dim=0 character_dim=0", "nothing to read"),
        ("ner", "character_filters=[[60,3]]", "no filter wider than max_characters"),
        ("ner", "dropout_rate=1.5", "dropout_rate is 1.5; expected at least 0 and below 1"),
        ("srl", "num_layers=65", "num_layers is 65; expected 1 to 64"),
        ("coref", "spans_per_word=0", "spans_per_word is 0.0; it must be positive"),
        ("sst", "classifier=gru", "classifier is 'gru'; expected one of bcn, bilstm, cnn"),
        ("sst", "maxout_dims=[8,0]", r"maxout_dims is \(8, 0\); expected at least 1"),
        ("sst", "output_dropout_rates=[0.2,1]", r"output_dropout_rates is \(0.2, 1.0\); expected at least 0"),
        ("ner", "seed=1125899906842624", "seed is 1125899906842624; expected at most"),
    ],
)
def test_settings_without_a_meaning_are_refused_by_name(task: str, setting: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        task_recipe(task, "cpu", setting.split())


@pytest.mark.parametrize("number", [math.inf, math.nan])
@pytest.mark.parametrize(
    ("config", "name"),
    [
        (TrainingConfig, "learning_rate"),
        (TrainingConfig, "weight_decay"),
        (TrainingConfig, "clip_norm"),
        (ElmoInput, "penalty"),
        (PretrainingConfig, "learning_rate"),
        (PretrainingConfig, "softmax_scale"),
    ],
)
def test_numbers_that_are_not_finite_are_refused(config: Callable[..., object], name: str, number: float):
    with pytest.raises(ValueError, match=f"{name} is {number}; expected a finite number"):
        config(**{name: number})


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_recipe_that_differs_from_cpu_in_its_training_alone(task: str):
    cpu, converged = task_recipe(task, "cpu"), task_recipe(task, "cpu-converged")
    assert replace(converged, training=cpu.training) == cpu != converged
    assert until_converged(lambda: converged) == converged
    training = converged.training  # patience replaces the schedule; the rest is kept
    assert (training.decay, training.min_steps, training.patience) == (1.0, 1000, 5)
    assert training.learning_rate == cpu.training.learning_rate
