from pathlib import Path

import pytest

from elmokit.metrics.coreference import score_coreference
from elmokit.tasks.coreference.reader import CoreferenceDocument, read_coreference_documents


def text_of(*sentences: list[str], name: str = "x") -> str:
    """One document; tokens are w0, w1, ... in each sentence, and the cells those of coreference."""
    lines = [f"#begin document ({name}); part 001"]
    for cells in sentences:
        lines += [f"{name} 1 {row} w{row} NN * - - - Ann * {cell}" for row, cell in enumerate(cells)] + [""]
    return "\n".join([*lines, "#end document", ""])


def read(path: Path) -> list[CoreferenceDocument]:
    return list(read_coreference_documents(path))


def test_reads_documents(write):
    path = write(text_of(["(7", "7)|(3)", "-"], ["(3)"], name="bc/a") + text_of(["(3)", "(3)"], name="b"))
    assert read(path) == [
        CoreferenceDocument(
            name="bc/a",
            part=1,
            sentences=[["w0", "w1", "w2"], ["w0"]],
            speakers=["Ann"] * 4,
            clusters=[[(0, 1)], [(1, 1), (3, 3)]],
        ),
        CoreferenceDocument(
            name="b", part=1, sentences=[["w0", "w1"]], speakers=["Ann"] * 2, clusters=[[(0, 0), (1, 1)]]
        ),
    ]


@pytest.mark.parametrize(
    ("sentences", "clusters"),
    [
        ([["(3", "(3", "3)", "3)"]], [[(0, 3), (1, 2)]]),  # mentions of one entity nest
        ([["(1", "(2", "1)", "2)"]], [[(0, 2)], [(1, 3)]]),  # those of two cross
        ([["-"]], []),
        # in the order in which the scorer meets their numbers: in a cell, the mentions of one token first
        (
            [["(5|(4|(3)", "4)", "5)"], ["(1|(3)", "1)|(4)"]],
            [[(0, 0), (3, 3)], [(0, 2)], [(0, 1), (4, 4)], [(3, 4)]],
        ),
    ],
)
def test_clusters_of_cells(write, sentences: list[list[str]], clusters: list[list[tuple[int, int]]]):
    assert read(write(text_of(*sentences)))[0].clusters == clusters


def test_a_mention_of_two_clusters_counts_for_the_one_whose_number_comes_last(write):
    """Scored by hand as scorer 8.01 does: it gives the mention a new id when it meets it again."""
    (document,) = read(write(text_of(["(0)", "(0)|(1)", "(1)"])))
    assert document.clusters == [[(0, 0), (1, 1)], [(1, 1), (2, 2)]]
    assert score_coreference(gold=document.clusters, predicted=[[(1, 1), (2, 2)]]).muc.recalled == 1
    assert score_coreference(gold=document.clusters, predicted=[[(0, 0), (1, 1)]]).muc.recalled == 0
    (swapped,) = read(write(text_of(["(0)", "(1)|(0)", "(1)"])))
    assert swapped.clusters == document.clusters


def test_an_empty_last_cell_is_no_mention_as_in_litbank(write):
    lines = text_of(["(1)", "-", "(1)"]).split("\n")
    text = "\n".join(line.replace(" ", "\t").removesuffix("-") if line.startswith("x") else line for line in lines)
    assert read(write(text))[0].clusters == [[(0, 0), (2, 2)]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (text_of(["-"], ["(3", "-"]), "data, line 4: '\\(3' is not closed before the end .*\\(line 5\\)"),
        (text_of(["(3"], ["3)"]), "data, line 2: '\\(3' is not closed before the end"),
        (text_of(["-", "3)"]), "data, line 3: '3\\)' closes 3, which is not open"),
        (text_of(["(3)|"]), "data, line 2: '\\(3\\)\\|' is not a coreference cell"),
        (text_of(["3"]), "data, line 2: '3' is not a coreference cell"),
        (text_of(["(a)"]), "data, line 2: '\\(a\\)' is not a coreference cell"),
        (text_of(["- -", "-"]), "data, line 3: 12 columns, but 13 in the lines above"),
        (text_of(), "data, line 1: document 'x' is empty"),
        ("", "data has no document"),
    ],
)
def test_refuses(write, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(write(text))
