import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from elmokit.files.json import as_type
from elmokit.tasks.config import ElmoInput, TaskConfig, TrainingConfig, until_converged, with_settings
from elmokit.tasks.task import TASKS, Task, task_recipe

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
    assert with_settings(short, ["dropout_rate=0.1"]).model.dropout_rate == 0.1  # the model's, as ever
    changed = with_settings(short, ["elmo.model=mini-ko"]).inputs.elmo
    assert changed == ElmoInput("output", "mini-ko", dropout_rate=0.2, layers="1")
    assert with_settings(short, ["elmo.penalty=1", "elmo=none"]).inputs.elmo is None
    with pytest.raises(ValueError, match="this config has no ELMo; add elmo=input, elmo=output or elmo=both"):
        with_settings(config, ["elmo.penalty=1"])
    assert with_settings(config, ["word_dim=0", "character_dim=0", "elmo=input"]).inputs.word_dim == 0


def test_a_field_that_two_parts_have_is_named_with_its_part(toy: Toy):
    config = TaskConfig(model=TrainingConfig())
    with pytest.raises(ValueError, match="more than one seed; write model.seed or training.seed"):
        with_settings(config, ["seed=1"])
    assert with_settings(config, ["model.seed=1"]).model.seed == 1
    with pytest.raises(ValueError, match="unknown recipe 'gpu' of toy; expected one of cpu"):
        toy.recipe("gpu")


@pytest.mark.parametrize(
    ("task", "setting", "reason"),
    [
        ("ner", "first=5", "unknown field 'first'; did you mean first_dim"),
        ("ner", "batch_size=0", "setting batch_size=0: batch_size is 0; expected at least 1"),
        ("ner", "optimizer=lion", "optimizer is 'lion'; expected adam, adamw, adadelta, sgd"),
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


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_recipe_that_differs_from_cpu_in_its_training_alone(task: str):
    cpu, converged = task_recipe(task, "cpu"), task_recipe(task, "cpu-converged")
    assert replace(converged, training=cpu.training) == cpu != converged
    assert until_converged(lambda: converged) == converged
    training = converged.training  # the schedule is given up for patience, the rest is kept
    assert (training.decay, training.min_steps, training.patience) == (1.0, 1000, 5)
    assert training.learning_rate == cpu.training.learning_rate
