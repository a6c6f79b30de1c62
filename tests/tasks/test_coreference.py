"""Documents with coreference: read, written, scored and resolved."""

import json
import re
from dataclasses import replace

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import nn

from elmokit.tasks.coreference.model import CoreferenceResolver, PairScorer, part_of
from elmokit.tasks.coreference.task import TASK, CoreferenceConfig, CoreferenceDocument, read_coreference_documents
from task_examples import COREFERENCE, DOCUMENTS, document


def text_of(*sentences: list[str], name: str = "x") -> str:
    """One document. The tokens of each sentence are w0, w1, ...; the given cells are the coreference column."""
    lines = [f"#begin document ({name}); part 001"]
    for cells in sentences:
        lines += [f"{name} 1 {row} w{row} NN * - - - Ann * {cell}" for row, cell in enumerate(cells)] + [""]
    return "\n".join([*lines, "#end document", ""])


@pytest.mark.parametrize(
    ("sentences", "clusters"),
    [
        ([["(7", "7)|(3)", "-"], ["(3)"]], [[(0, 1)], [(1, 1), (3, 3)]]),
        ([["(3", "(3", "3)", "3)"]], [[(0, 3), (1, 2)]]),  # mentions of one entity nest
        ([["(1", "(2", "1)", "2)"]], [[(0, 2)], [(1, 3)]]),  # mentions of two entities cross
        ([["-"]], []),
        # in the order in which the scorer meets the numbers: in a cell, mentions of one token come first
        ([["(5|(4|(3)", "4)", "5)"], ["(1|(3)", "1)|(4)"]], [[(0, 0), (3, 3)], [(0, 2)], [(0, 1), (4, 4)], [(3, 4)]]),
    ],
)
def test_reads_documents(write, sentences: list[list[str]], clusters: list[list[tuple[int, int]]]):
    text = text_of(*sentences, name="bc/a")
    tokens = [[f"w{row}" for row in range(len(sentence))] for sentence in sentences]
    expected = CoreferenceDocument("bc/a", 1, tokens, ["Ann"] * sum(map(len, tokens)), clusters)
    other = CoreferenceDocument("b", 1, [["w0", "w1"]], ["Ann"] * 2, [[(0, 0), (1, 1)]])
    assert list(read_coreference_documents(write(text + text_of(["(3)", "(3)"], name="b")))) == [expected, other]
    tabs = re.sub(r"(?m)^bc.*$", lambda row: row[0].replace(" ", "\t"), text)
    for empty in ("", "_"):  # in LitBank, an empty last cell means no mention
        assert list(read_coreference_documents(write(re.sub(r"(?m)-$", empty, tabs)))) == [expected]


E2E = {
    "doc_key": "bc/cnn/00/cnn_0000_1",
    "sentences": [["Ann", "saw", "it"], [], ["She", "ran"]],
    "speakers": [["Bo"] * 3, [], ["", ""]],
    "clusters": [[[3, 3], [0, 0]]],
    "constituents": [],
}


def test_reads_the_json_lines_of_e2e_coref(write):
    plain = {name: E2E[name] for name in ("sentences", "clusters")}
    first, second = read_coreference_documents(
        write(f"{json.dumps(E2E)}\n\n{json.dumps(plain | {'doc_key': 'x_1'})}\n")
    )
    sentences = [["Ann", "saw", "it"], ["She", "ran"]]
    speakers = ["Bo"] * 3 + ["-"] * 2
    assert first == CoreferenceDocument("bc/cnn/00/cnn_0000", 1, sentences, speakers, [[(0, 0), (3, 3)]])
    assert (second.name, second.part, second.speakers) == ("x_1", 0, ["-"] * 5)


COREFUD = """# global.Entity = eid-etype-head-other
# newdoc id = GUM_news_x
# speaker = Bo
1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1-person-1-(e2-x-)|SpaceAfter=No
2\tel\t_\t_\t_\t_\t_\t_\t_\tEntity=e1)(e4[1/2]-x-1)
2.1\t_\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1-person-1-)(e3
3\tmar\t_\t_\t_\t_\t_\t_\t_\t_

1\tva\t_\t_\t_\t_\t_\t_\t_\tEntity=e3)(e2)(e4[2/2]-x-1)

# newdoc
1\tno\t_\t_\t_\t_\t_\t_\t_\t_
"""


def test_reads_corefud_without_its_empty_nodes_and_pieces(write):
    with pytest.warns(UserWarning, match="2 pieces of discontinuous mentions in GUM_news_x are left out"):
        first, second = read_coreference_documents(write(COREFUD))
    sentences = [["de", "el", "mar"], ["va"]]
    clusters = [[(0, 1)], [(0, 0), (3, 3)], [(2, 3)]]
    assert first == CoreferenceDocument("GUM_news_x", 0, sentences, ["Bo"] * 3 + ["-"], clusters)
    assert (second.sentences, second.clusters) == ([["no"]], [])


def test_a_document_without_a_name_has_that_of_its_file_from_every_folder(write, monkeypatch):
    path = write("".join(line for line in COREFUD.splitlines(keepends=True) if not line.startswith("# newdoc")))
    monkeypatch.chdir(path.parent)
    with pytest.warns(UserWarning, match="discontinuous"):
        (there,), (here,) = map(list, map(read_coreference_documents, (path, path.name)))
    assert there == here and here.name == path.name


def test_refuses(refusals, snapshot: SnapshotAssertion):
    texts = [
        json.dumps(E2E | {"clusters": [[[3, 9]]]}),
        json.dumps(E2E | {"speakers": [["Bo"]]}),
        json.dumps(E2E | {"sentences": "no"}),
        COREFUD.replace("e1)", "e5)"),
        COREFUD.replace("e3)", ""),
        COREFUD.replace("1-2\t", "a\t"),
        text_of(["-"], ["(3", "-"]),
        text_of(["(3"], ["3)"]),
        text_of(["-", "3)"]),
        text_of(["(3)|"]),
        text_of(["(a)"]),
    ]
    assert refusals(read_coreference_documents, texts) == snapshot


SENTENCES = [["Ann", "saw", "the", "cat", "."], ["It", "saw", "her", "."]]
CLUSTERS = [[(0, 0), (7, 7)], [(2, 3), (5, 5)]]
EXAMPLE = CoreferenceDocument("GUM_news_x", 2, SENTENCES, ["Bob"] * 5 + ["-"] * 4, CLUSTERS)


def written(example: CoreferenceDocument, clusters: list[list[tuple[int, int]]]) -> str:
    return next(TASK.to_text([(example, clusters)]))


def test_writes_columns_that_its_reader_reads(write):
    path = write("\n".join([written(EXAMPLE, CLUSTERS)] * 2))
    assert TASK.read(path, CoreferenceConfig(), True).examples == [EXAMPLE, EXAMPLE]
    spaced = written(replace(EXAMPLE, name="a\nb", speakers=["Bob\tLee"] * 9), CLUSTERS)
    assert spaced.startswith("#begin document (a b); part") and spaced.count("\tBob Lee\t") == 9
    nobody = written(replace(EXAMPLE, name=" ", speakers=[""] * 9), CLUSTERS)
    assert nobody == written(replace(EXAMPLE, name="-", speakers=["-"] * 9), CLUSTERS)


def test_scores_as_conll2012():
    numbers = TASK.score([EXAMPLE, EXAMPLE], [CLUSTERS, [[(0, 0), (7, 7)], [(1, 1), (5, 5)]]])
    # MUC: 2 + 1 of 4 links. B-cubed: 4 + 2 of 8 mentions in full, one by half. CEAF-e: 2 + 1 + 0.5 of 4 clusters.
    assert numbers["muc_f1"] == pytest.approx(100 * 3 / 4)
    assert numbers["b_cubed_precision"] == pytest.approx(100 * 6.5 / 8)
    assert numbers["ceaf_e_recall"] == pytest.approx(100 * 3.5 / 4)
    assert numbers["average_f1"] == pytest.approx(100 * (6 + 6.5 + 7) / 8 / 3)
    assert numbers["mentions_f1"] == pytest.approx(100 * 7 / 8)


def test_labels_are_genres():
    names = ("GUM_news_x", "bc/cnn/00/cnn_0000", "text", "the_old_house", "GUM_news_y")  # a title is not a genre
    assert TASK.symbols([replace(EXAMPLE, name=name) for name in names]) == ["bc", "news"]


SMALL = COREFERENCE.config
WORDS = COREFERENCE.words()


@pytest.fixture
def resolver(stand_in_inputs) -> CoreferenceResolver:
    torch.manual_seed(1)
    made = COREFERENCE.model(stand_in_inputs(WORDS, output_dim=3))
    for parameter in made.score_pair.parameters():
        nn.init.normal_(parameter)
    return made.eval()


def test_the_loss_is_minus_the_log_likelihood_of_all_correct_antecedents_together(resolver: CoreferenceResolver):
    example = DOCUMENTS[2]
    spans, scores = resolver._antecedent_scores(example)
    mentions = list(zip(spans.first.tolist(), spans.last.tolist(), strict=True))
    (cluster,) = example.clusters
    expected = torch.zeros(())
    for later, mention in enumerate(mentions):
        assert scores[later, later + 1 :].eq(-torch.inf).all()  # only earlier mentions are candidates
        right = [later - earlier for earlier in range(later) if {mention, mentions[earlier]} <= set(cluster)]
        expected -= scores[later].log_softmax(dim=0)[right or [0]].logsumexp(dim=0)
    assert expected > 0
    torch.testing.assert_close(resolver([example]), expected)


def test_column_m_has_the_score_with_the_span_m_places_before(resolver: CoreferenceResolver):
    for parameter in resolver.score_mention.parameters():
        nn.init.zeros_(parameter)
    resolver.score_pair.register_forward_hook(
        lambda module, args, named, output: 100.0 * named["later"] + named["earlier"], with_kwargs=True
    )
    _, scores = resolver._antecedent_scores(DOCUMENTS[2])
    assert len(scores) > 3
    for later in range(len(scores)):
        assert scores[later, 1 : later + 1].tolist() == [100.0 * later + later - m for m in range(1, later + 1)]


def test_a_pair_s_score_is_that_of_the_whole_layer():
    torch.manual_seed(0)
    score = PairScorer(SMALL, span_dim=5, num_genres=2).eval()
    spans, later, earlier = torch.randn(9, 5), torch.tensor([3, 8, 8]), torch.tensor([2, 0, 7])
    same_speaker = torch.tensor([True, False, True])
    made = score(spans, later=later, earlier=earlier, same_speaker=same_speaker, genre=2)
    features = [
        score.speakers(same_speaker.long()),
        score.genres(torch.tensor([2, 2, 2])),
        score.distances(torch.tensor([1, 6, 1])),  # distances 1, 8 and 1
    ]
    whole = torch.cat([spans[later], spans[earlier], spans[later] * spans[earlier], *features], dim=1)
    torch.testing.assert_close(made, score.rest(score.first_layer(whole)).squeeze(1))


def test_speakers_and_genre_matter_and_an_unknown_genre_adds_nothing(resolver: CoreferenceResolver):
    example = DOCUMENTS[0]
    loss = resolver([example])
    assert resolver([replace(example, speakers=["Ann"] * 7)]) != loss
    assert resolver([replace(example, name="nw/x")]) != loss
    with torch.no_grad():
        resolver.score_pair.genres.weight[0] = 0.0
        resolver.score_pair.genres.weight[1] = 0.0
    torch.testing.assert_close(resolver([replace(example, name="text")]), resolver([example]))


def test_training_reads_a_random_part_of_a_long_document_with_its_mentions_and_evaluation_all(stand_in_inputs):
    rest = document("Bob fed the cat / he slept", [[(0, 0), (4, 4)]], name="nw/x")
    expected = replace(rest, speakers=DOCUMENTS[2].speakers[3:])
    assert part_of(DOCUMENTS[2], start=1, num_sentences=2) == expected
    assert part_of(DOCUMENTS[2], start=0, num_sentences=9) == DOCUMENTS[2]
    assert part_of(DOCUMENTS[0], start=1, num_sentences=1).clusters == [[(2, 2)], [(0, 0)]]
    assert part_of(DOCUMENTS[1], start=1, num_sentences=1).clusters == []
    read: list[list[list[str]]] = []
    inputs = stand_in_inputs(WORDS)
    inputs.register_forward_pre_hook(lambda _, arguments: read.append(list(arguments[0])))
    resolver = CoreferenceResolver(replace(SMALL, max_train_sentences=2), inputs, [])
    torch.manual_seed(0)
    for _ in range(20):
        resolver([DOCUMENTS[2]]).backward()
    sentences = DOCUMENTS[2].sentences
    assert all(part in (sentences[:2], sentences[1:]) for part in read)
    assert sentences[:2] in read and sentences[1:] in read
    resolver.eval()([DOCUMENTS[2]])
    assert read[-1] == sentences


def test_documents_of_a_word_and_without_clusters(resolver: CoreferenceResolver):
    word = document("Ann", [])
    assert resolver.predict([word]) == [[]]
    resolver.train()
    loss = resolver([word, DOCUMENTS[1]])
    loss.backward()
    resolver([word]).backward()
    assert resolver([word]) == 0
