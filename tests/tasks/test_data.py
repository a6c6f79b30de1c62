import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elmokit.corpus.exclusion import texts_of
from elmokit.metrics.spans import spans_from_tags
from elmokit.tasks.config import Splits, TrainingConfig, with_settings
from elmokit.tasks.coreference.task import CoreferenceDocument, read_coreference_documents
from elmokit.tasks.data import dev_in_use, read_data, task_sentences
from elmokit.tasks.entailment.task import read_sentence_pairs
from elmokit.tasks.named_entities.task import TaggedSentence, read_tagged_sentences
from elmokit.tasks.question_answering.task import read_questions
from elmokit.tasks.semantic_roles.task import PredicateInSentence, read_predicates
from elmokit.tasks.sentiment.task import FIVE_CLASSES, read_texts
from elmokit.tasks.task import Task, find_task
from paper.experiments import unpacked
from task_examples import DATA_FILES

Toy = Task[Any, Any]


def read(task: Toy, files: list[Path], *settings: str) -> tuple[list[Any], list[Any]]:
    config = with_settings(task.recipe("cpu"), settings)
    data = read_data(task, Splits(tuple(files)), config)
    return data.train, data.dev


@pytest.mark.parametrize(
    ("texts", "content"),
    [
        (read_questions, '{"data": [' + "[]," * 700_000 + "[]]}"),
        (read_sentence_pairs, "[" + ("[]," * 100 + "\n") * 7_000 + "[]]"),
        (lambda path: texts_of(path, str.split), "[" + ("[]," * 100 + "\n") * 7_000 + "[]]"),
        (lambda path: texts_of(path, str.split), "{" + (" " * 99 + "\n") * 20_000 + "}"),
    ],
    ids=["question answering", "entailment", "exclusion of a list", "exclusion of an object"],
)
def test_json_that_is_read_as_a_whole_is_bounded_by_the_size_of_its_file(texts: Any, content: str, tmp_path: Path):
    path = tmp_path / "data.json.gz"
    path.write_bytes(gzip.compress(content.encode()))
    with pytest.raises(ValueError, match=r"data\.json\.gz: has more than 1\.\d MiB, too much"):
        list(texts(path))


@pytest.mark.parametrize(
    ("name", "kind", "content"), DATA_FILES, ids=[f"{name}, {kind}" for name, kind, _ in DATA_FILES]
)
def test_no_error_quotes_more_than_a_token(name: str, kind: str, content: str, tmp_path: Path):
    path = tmp_path / "data"
    task = find_task(name)
    for word in dict.fromkeys(re.findall(r'[^\s",:{}\[\]]+', content)):
        for new in (5000 * "q", 5000 * "q" + "*", 5000 * "9"):
            path.write_text(content.replace(word, new, 1))
            try:
                read(task, [path], "dev_share=0.5")
            except ValueError as error:
                assert len(str(error)) < 700, f"{word}: {str(error)[:700]}"


ROW_2012 = "x 0 0 w NN * - - - - * -\n"


@pytest.mark.parametrize(
    ("name", "row", "frame"),
    [
        ("named-entities", "w O\n", "{}"),
        ("semantic-roles", "w - *\n", "{}go go (V*)\n"),
        ("semantic-roles", ROW_2012, "#begin document (x); part 000\n{}\n#end document\n"),
        ("coreference", ROW_2012, "#begin document (x); part 000\n{}\n#end document\n"),
    ],
)
def test_files_whose_sentences_are_documents_warn(name: str, row: str, frame: str, tmp_path: Path):
    path = tmp_path / "data"
    task = find_task(name)
    for num_documents, num_sentences in ((2, 0), (1, 9)):
        path.write_text("\n".join([frame.format(row * 300)] * num_documents + [frame.format(row * 9)] * num_sentences))
        with pytest.warns(UserWarning, match="have more than 200 tokens, the longest 30.; expected a blank line after"):
            task.read(path, task.recipe("cpu").model, False)
    path.write_text("\n".join([frame.format(row * 300)] + [frame.format(row * 9)] * 10))
    task.read(path, task.recipe("cpu").model, False)


def test_a_share_is_set_apart_evenly_and_sentences_that_occur_twice_are_on_one_side(toy: Toy, tmp_path: Path):
    path = tmp_path / "all.tsv"
    path.write_text("".join(f"a\tword{number}\n" for number in range(20)))
    train, dev = read(toy, [path], "dev_share=0.25")
    assert [example.tokens for example in dev] == [["word3"], ["word7"], ["word11"], ["word15"], ["word19"]]
    assert len(train) == 15
    drawn = [read(toy, [path], "dev_share=0.25", "random_dev=true", f"seed={seed}")[1] for seed in (0, 1)]
    places = [[int(example.tokens[0].removeprefix("word")) for example in dev] for dev in drawn]
    assert all([place // 4 for place in each] == [0, 1, 2, 3, 4] for each in places)
    assert places[0] == places[1] and len({place % 4 for place in places[0]}) > 1
    path.write_text("".join(f"a\tword{number % 10}\n" for number in range(20)))
    train, dev = read(toy, [path], "dev_share=0.2")
    assert [example.tokens for example in dev] == [["word4"], ["word9"]] * 2 and len(train) == 16


def test_equal_sentences_of_trees_are_on_one_side_whatever_their_lines_and_files(tmp_path: Path):
    trees = [f"(3 (2 It) (4 (2 's) (3 good{number})))\n" for number in range(10)]
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    files[0].write_text("".join([*trees, *trees[3:], *trees[:3]]))
    files[1].write_text("".join(reversed(trees)) + "(2 new)\n")
    train, dev = read(find_task("sentiment"), files, "dev_share=0.2", "phrases=true", "min_phrase_tokens=1")
    assert {" ".join(text.tokens) for text in dev} == {"It 's good4", "It 's good9"} and len(dev) == 2 * 3
    assert not {"good4", "good9"} & {token for text in train for token in text.tokens}
    assert len(train) == 8 * 3 * 5 + 1


def test_premises_and_documents_stay_together_where_there_are_several(tmp_path: Path):
    path = tmp_path / "data"
    pairs = [{"sentence1": f"It rains {n // 3}.", "sentence2": f"Ann {n}.", "gold_label": "neutral"} for n in range(12)]
    path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    _, dev = read(find_task("entailment"), [path], "dev_share=0.25")
    assert [pair.premise[-2] for pair in dev] == ["3"] * 3
    part = "#begin document (bc/{0}); part 00{1}\nbc/{0} {1} 0 Ann NN * - - - - * (1)\n\n#end document\n"
    path.write_text("".join(part.format(name, number) for name in "abc" for number in "01"))
    _, dev = read(find_task("coreference"), [path], "dev_share=0.34")
    assert [(document.name, document.part) for document in dev] == [("bc/c", 0), ("bc/c", 1)]
    document = "-DOCSTART- O\n\n" + "".join(f"d{{0}}s{number} B-PER\n\n" for number in range(3))
    for documents, share, found in ((range(4), 0.25, ["d3s0", "d3s1", "d3s2"]), (range(1), 0.34, ["d0s2"])):
        path.write_text("".join(map(document.format, documents)))
        _, dev = read(find_task("named-entities"), [path], f"dev_share={share}")
        assert [sentence.tokens for sentence in dev] == [[token] for token in found]


def test_too_few_documents_and_those_without_which_nothing_is_left_are_refused(toy: Toy, tmp_path: Path):
    (tmp_path / "few.tsv").write_text("a\tone\na\ttwo\n")
    with pytest.raises(ValueError, match=r"too few documents or sentences \(2\) to hold out 10% .*; give a developme"):
        read(toy, [tmp_path / "few.tsv"], "dev_share=0.1")
    path = tmp_path / "train.conll"
    sentence = "w{0}\t-\t(A0*)\nran\trun\t(V*)\n"
    path.write_text("".join(sentence.format(n) + "x\t-\t*\n" * (n < 9) + "\n" for n in range(10)))
    with pytest.raises(ValueError, match=r"too few documents or sentences .*: --dev FILE, or data="):
        read(find_task("semantic-roles"), [path], "dev_share=0.1", "max_train_tokens=2")


def test_the_examples_scored_while_training_are_the_first_or_spread_evenly():
    config = TrainingConfig(max_dev_examples=3)
    assert dev_in_use(range(9), config) == range(3)
    assert dev_in_use(range(9), replace(config, spread_dev=True)) == [0, 3, 6]
    assert dev_in_use(range(2), config) == range(2)
    assert dev_in_use(range(9), TrainingConfig()) == range(9)


def test_the_sentences_of_files_are_those_of_their_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("train", "dev"):
        rows = "".join(f"{number} in {name}\tgood\n" for number in range(12))
        (tmp_path / f"{name}.tsv").write_text(f"text\tlabel\n{rows}")
    config = find_task("sentiment").recipe("cpu")
    both: Any = Splits(str(tmp_path / "train.tsv"), [tmp_path / "dev.tsv"])  # a path, a string, or several of them
    assert both == Splits((tmp_path / "train.tsv",), tmp_path / "dev.tsv")
    assert task_sentences("sst", both, config) == task_sentences("sst", tmp_path, config)
    alone = task_sentences("sst", Splits(both.train), config)
    assert sorted(alone) == sorted((str(number), "in", "train") for number in range(12))
    assert "no development file: 10% of the training data is held out" in capsys.readouterr().err


DATA = Path(__file__).parents[2] / ".data"


def entities(path: Path) -> list[int]:
    """Count sentences, tokens and entities."""
    read: list[TaggedSentence] = list(read_tagged_sentences(path))
    return [len(read), sum(len(each.tokens) for each in read), sum(len(spans_from_tags(each.tags)) for each in read)]


def roles(path: Path) -> list[int]:
    """Count sentences, tokens, propositions and arguments."""
    read: list[PredicateInSentence] = list(read_predicates(path))
    sentences = {example.sentence: example.tokens for example in read}
    tags = [example.tags for example in read if example.tags]
    arguments = [span for each in tags for span in spans_from_tags(each) if span.label != "V"]
    return [len(sentences), sum(map(len, sentences.values())), len(tags), len(arguments)]


def coreference(path: Path) -> list[int]:
    """Count documents, sentences, tokens, mentions, and entities with several mentions."""
    read: list[CoreferenceDocument] = list(read_coreference_documents(path))
    sizes = [len(cluster) for document in read for cluster in document.clusters]
    sentences = [sentence for document in read for sentence in document.sentences]
    return [len(read), len(sentences), sum(map(len, sentences)), sum(sizes), sum(size > 1 for size in sizes)]


def pairs(path: Path) -> list[int]:
    """Count pairs, and pairs without a label."""
    labels = Counter(pair.label for pair in read_sentence_pairs(path))
    return [labels.total(), labels[None]]


def questions(path: Path) -> list[int]:
    """Count questions, passages and answers."""
    read = list(read_questions(path))
    return [len(read), len({each.passage.text for each in read}), sum(len(each.answers) for each in read)]


def trees(path: Path) -> list[int]:
    """Count the sentences of each class, the phrases, and the sentences that have one of two classes."""
    classes = Counter(text.label for text in read_texts(path))
    binary = sum(text.label is not None for text in read_texts(path, num_classes=2))
    return [*(classes[label] for label in FIVE_CLASSES), sum(1 for _ in read_texts(path, phrases=True)), binary]


def nsmc(path: Path) -> list[int]:
    return [Counter(text.label for text in read_texts(path))[label] for label in "01"]


@pytest.mark.parametrize(
    ("name", "count", "published"),
    [
        ("tasks/conll2003/eng.testb", entities, [3_453, 46_435, 5_648]),
        ("tasks/srl_ewt_propbank/dev.verbs.gold_conll", roles, [1_968, 24_892, 3_221, 7_878]),
        ("tasks/coref_ontogum/dev.gold_conll", coreference, [30, 1_575, 28_119, 3_818, 855]),
        ("tasks/snli/snli_1.0_dev.jsonl", pairs, [9_842, 0]),
        ("tasks/snli_counterfactual/original_test.tsv", pairs, [400, 0]),
        ("ko/tasks/nli_klue/dev.jsonl", pairs, [2_038, 0]),
        ("tasks/squad_v1.1/dev-v1.1.json", questions, [10_570, 2_067, 34_726]),
        ("tasks/sst/dev.txt", trees, [139, 289, 229, 279, 165, 41_447, 872]),
        ("ko/tasks/nsmc/dev.tsv", nsmc, [5_000, 5_000]),
    ],
)
def test_counts_are_the_published_ones(name: str, count: Callable[[Path], Iterable[Any]], published: list[int]):
    path = unpacked((DATA / name).parent) / Path(name).name
    if not path.is_file():
        pytest.skip(f"the data of the tasks is not unpacked: no {path}")
    assert count(path) == published
