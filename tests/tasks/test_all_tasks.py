import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.tasks.task import TASKS, find_task


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
        ("coref", {"tokens": ["Ann Lee"]}),
    ],
)
def test_what_asks_for_nothing_is_refused(short: str, given: Any, snapshot: SnapshotAssertion):
    task = find_task(short)
    make: Callable[[Any], Any] = task.from_text if isinstance(given, str) else task.from_json
    with pytest.raises(ValueError) as refused:
        make(given)
    assert str(refused.value) == snapshot
