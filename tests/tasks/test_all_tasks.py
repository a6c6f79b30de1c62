import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmokit.tasks.all_tasks import TASKS, find_task


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


WORDS = "expected a list of words"


@pytest.mark.parametrize(
    ("short", "given", "message"),
    [
        ("ner", " ", "' ' has no tokens"),
        ("ner", {"words": []}, "field text: is missing; there are words"),
        ("ner", {"tokens": ["New York"]}, f"{WORDS} without spaces"),
        ("ner", {"tokens": ["Jane"], "text": "Ann"}, "token 0, 'Jane', does not match the text"),
        ("sst", "", "'' has no tokens; expected at least one word"),
        ("sst", {"tekst": "so so"}, "field text: is missing"),
        ("sst", {"tokens": ["so", 1]}, WORDS),
        ("nli", "A dog.", "has 0 tabs; expected a premise, a tab and a hypothesis"),
        ("nli", {"premise": "A dog."}, "the pair: field hypothesis: is missing; there are premise"),
        ("nli", {"premise": "A", "hypothesis": " "}, "the hypothesis ' ' has no tokens"),
        ("nli", {"premise": [], "hypothesis": "A"}, WORDS),
        ("qa", "Who won?", "has 0 tabs; expected a question, a tab and a passage"),
        ("qa", {"question": "Who won?"}, "field context: is missing"),
        ("qa", {"question": "Who?", "context": " "}, "the context ' ' has no tokens"),
        *(
            ("srl", line, "marks no predicate; expected one word between asterisks")
            for line in ("Ann sang", "Ann *sang", "Ann ** sang", "*Ann* *sang*", "Ann *sang it*")
        ),
        ("srl", "Ann *\u200b* sang", "there is no token between the asterisks"),
        ("srl", {"tokens": ["Ann"]}, "the sentence: field predicate: is missing"),
        ("srl", {"tokens": ["Ann"], "predicate": 1}, "field predicate: is 1; expected 0 to 0"),
        ("coref", " ", "has no tokens; expected the sentences of a document"),
        ("coref", {"sentences": [["Ann"], []]}, WORDS),
        ("coref", {"sentences": ["Ann slept"]}, "field sentence: is text; expected a list"),
        ("coref", {"sentences": [["Ann"]], "speakers": [1]}, "field speakers"),
        ("coref", {"sentences": [["Ann"]], "speakers": ["a", "b"]}, "there are 2 speakers but 1 sentences"),
        ("coref", {"text": "Ann slept.", "speakers": ["a"]}, "field speakers: needs sentences"),
        ("coref", {"text": "Ann slept.", "tokens": ["Bob"]}, "Bob"),
        ("coref", {"tokens": ["Ann Lee"]}, f"{WORDS} without spaces"),
    ],
)
def test_what_asks_for_nothing_is_refused(short: str, given: Any, message: str):
    task = find_task(short)
    make: Callable[[Any], Any] = task.from_text if isinstance(given, str) else task.from_json
    with pytest.raises(ValueError, match=message if ".*" in message else re.escape(message)):
        make(given)
