from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.tasks.sentiment.reader import FIVE_CLASSES, LabelledText, read_labelled_texts, read_trees

TREES = """(3 (2 It) (4 (2 's) (3 good)))

(1 (2 -LRB-) (0 bad\\/worse))
"""

Tree = tuple[int, "str | list[Tree]"]


def trees(path: Path, **options: object) -> list[tuple[str, str | None]]:
    return [(" ".join(text.tokens), text.label) for text in read_trees(path, **options)]


def texts(path: Path, **options: object) -> list[LabelledText]:
    return list(read_labelled_texts(path, **options))


def test_reads_the_sentences_and_the_phrases_of_trees(write):
    assert trees(write(TREES)) == [("It 's good", "positive"), ("( bad/worse", "negative")]
    assert trees(write("(2 (2 2\u00a01\\/2) (2 a))"))[0][0] == "2\u00a01/2 a"  # only spaces part words
    assert trees(write(TREES), phrases=True) == [
        ("It 's good", "positive"),
        ("'s good", "very positive"),
        ("good", "positive"),
        ("'s", "neutral"),
        ("It", "neutral"),
        ("( bad/worse", "negative"),
        ("bad/worse", "very negative"),
        ("(", "neutral"),
    ]


def test_with_two_classes_what_is_neutral_has_no_label(write):
    path = write("\n".join(f"({label} x)" for label in range(5)))
    assert [label for _, label in trees(path)] == list(FIVE_CLASSES)
    assert [label for _, label in trees(path, num_classes=2)] == ["negative", "negative", None, "positive", "positive"]
    with pytest.raises(ValueError, match="num_classes is 3; expected 5, or 2"):
        trees(path, num_classes=3)
    with pytest.raises(ValueError, match="data has no trees"):
        trees(write("\n \n"))


WORD = st.text(st.characters(codec="utf-8", exclude_characters="() \t\n\r\0\\/`'-\ufeff"), min_size=1, max_size=4)
NODES: st.SearchStrategy[Tree] = st.recursive(
    st.tuples(st.integers(0, 4), WORD),
    lambda node: st.tuples(st.integers(0, 4), st.lists(node, min_size=1, max_size=3)),
    max_leaves=8,
)


def written(tree: Tree) -> str:
    label, inside = tree
    return f"({label} {inside if isinstance(inside, str) else ' '.join(map(written, inside))})"


def phrases_of(tree: Tree) -> list[LabelledText]:
    label, inside = tree
    if isinstance(inside, str):
        return [LabelledText([inside], FIVE_CLASSES[label])]
    below = [phrases_of(node) for node in inside]
    tokens = [token for phrases in below for token in phrases[0].tokens]
    return [LabelledText(tokens, FIVE_CLASSES[label]), *(phrase for phrases in reversed(below) for phrase in phrases)]


@given(st.lists(NODES, min_size=1, max_size=3))
def test_gives_the_trees_that_were_written(write, forest: list[Tree]):
    path = write("\n".join(map(written, forest)))
    assert list(read_trees(path, phrases=True)) == [phrase for tree in forest for phrase in phrases_of(tree)]
    assert list(read_trees(path)) == [phrases_of(tree)[0] for tree in forest]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(3 (2 It) (2 is)", "data, line 2, character 1: '\\(3' ... is never closed"),
        ("(3 (2 It (2 is))", "data, line 2, character 10: '\\(2' ...; expected a word in brackets of its own"),
        ("(3 It is)", "data, line 2, character 7: 'is\\)'; expected a word in brackets"),
        ("(3 (2 It) is)", "data, line 2, character 11: 'is\\)'; expected a word in brackets"),
        ("(3 It))", "data, line 2, character 7: '\\)' is outside the brackets"),
        ("It", "data, line 2, character 1: 'It' is outside the brackets"),
        ("(3 It) (2 is)", "data, line 2, character 8: '\\(2' ... follows the tree"),
        ("(3 (2 ) (2 is))", "data, line 2, character 7: '\\(2' ... has no word"),
        ("(5 It)", "data, line 2, character 1: the label is '5'; expected 0"),
        ("(It)", "data, line 2, character 1: the label is 'It'; expected 0"),
        ("((2 It))", "data, line 2, character 1: the label is ''; expected 0"),
    ],
)
def test_refuses_what_is_no_tree(write, tree: str, message: str):
    with pytest.raises(ValueError, match=message):
        trees(write(f"(2 ok)\n{tree}\n"))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            'id\tdocument\tlabel\trating\n1\t정말 "좋다"\t1\t10\n2\t네 ㅋㅋㅋㅋㅋ\t0\t1\n3\t \u200b\t1\t1\n',
            [
                LabelledText(["정말", '"', "좋다", '"'], "1"),
                LabelledText(["네", "ㅋㅋㅋ"], "0"),
                LabelledText([], "1"),  # a text may be empty, as some of NSMC are
            ],
        ),
        ("label\ttext\tx\n0\tIt's\t\n", [LabelledText(["It", "'s"], "0")]),
        ("sentence\tlabel\nfine\t1\n", [LabelledText(["fine"], "1")]),
    ],
)
def test_reads_tables(write, table: str, expected: list[LabelledText]):
    assert texts(write(table)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text\tlabel\na\t1\nb\n", "data, line 3: 1 tab-separated columns, but 2 in the header: 'b'"),
        ("text\tlabel\na\t\n", "data, line 2: the label is ''; expected one"),
        ("a\t1\n", "data, line 1: the header has no column text or document or sentence or review"),
        ("", "data has no rows"),
    ],
)
def test_refuses_tables(write, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        texts(write(text))
