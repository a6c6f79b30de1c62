"""Sentences with names: read, written, scored and tagged."""

import re

import pytest
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from elmokit.tasks.named_entities.task import TASK, TaggedSentence, read_tagged_sentences
from task_examples import NAMED_ENTITIES

CONLL2003 = """-DOCSTART- -X- O O

Ann NNP I-NP I-PER
Lee NNP I-NP I-PER
Bo NNP I-NP B-PER
sings VBZ I-VP O

Seoul NNP I-NP I-LOC
"""


def test_reads_conll2003_and_its_iob1(write):
    assert list(read_tagged_sentences(write(CONLL2003))) == [
        TaggedSentence(
            ["Ann", "Lee", "Bo", "sings"], ["B-PER", "L-PER", "U-PER", "O"], ["I-PER", "I-PER", "B-PER", "O"]
        ),
        TaggedSentence(["Seoul"], ["U-LOC"], ["I-LOC"]),
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (  # CoNLL-2002: documents begin without a blank line
            "-DOCSTART- -DOCSTART- O\nIn Prep O\nGent N B-LOC\n-DOCSTART- -DOCSTART- O\nJan N B-PER\n",
            [(["In", "Gent"], ["O", "U-LOC"]), (["Jan"], ["U-PER"])],
        ),
        (  # WNUT-17: a tab between sentences
            "#Up\tB-creative-work\n@x\tI-creative-work\n\t\nhi\tO\n",
            [(["#Up", "@x"], ["B-creative-work", "L-creative-work"]), (["hi"], ["O"])],
        ),
        ("B-52 B-52 B-52 B-PROD\n", [(["B-52"], ["U-PROD"])]),  # with a lemma and a stem
        ("## O\n", [(["##"], ["O"])]),  # not a comment of KLUE-NER
        (  # comments of other forms
            "#\tnzz\t1\n# a note\nEU\tB-ORG\n\n#FORMAT=x\n%\tO\n",
            [(["EU"], ["U-ORG"]), (["%"], ["O"])],
        ),
        ("#\tO\n#Up\tB-X\nhi\tO\n", [(["#", "#Up", "hi"], ["O", "U-X", "O"])]),
        (  # CoNLL-2012
            "#begin document (bc/x); part 000\n"
            "bc/x 0 0 -LRB- . * - - - A (ORG* -\nbc/x 0 1 EU NN * - - - A *) (1)\nbc/x 0 2 is V * - - - A * -\n"
            "bc/x 0 3 in IN * - - - A (GPE) -\nbc/x 0 4 it IN * - - - A (GPE*) -\n\n#end document\n",
            [(["(", "EU", "is", "in", "it"], ["B-ORG", "L-ORG", "O", "U-GPE", "U-GPE"])],
        ),
    ],
)
def test_reads_other_data_sets(write, text: str, sentences: list[tuple[list[str], list[str]]]):
    assert [(sentence.tokens, sentence.tags) for sentence in read_tagged_sentences(write(text))] == sentences


def klue_ner(annotated: str) -> str:
    """Lines of KLUE-NER for a sentence. Its entities are marked as in the comment above it: `<서울:LC>에`."""
    rows: list[str] = []
    for outside, entity, label in re.findall(r"([^<]*)(?:<([^>]*):([A-Z]+)>)?", annotated):
        rows += [f"{character}\tO" for character in outside]
        rows += [f"{character}\t{'I' if index else 'B'}-{label}" for index, character in enumerate(entity)]
    return "".join(f"{row}\n" for row in [f"## klue-ner-v1_train_00000-own\t{annotated}", *rows, ""])


def test_the_characters_of_klue_ner_become_tokens_with_their_particle_and_the_first_of_their_names(write):
    annotated = (
        *("<지난 3월:DT>, <김하늘:PS>은 <서울 역:LC>에 갔다ㅋㅋㅋㅋㅋ", "<눈:PS>이"),
        "<서울:LC><시청:OG>에 <한:LC><일 월드컵:OG>과 <미:LC><국:LC>",
    )
    path = write("## 토큰, 레이블 구분자 : \\t\n\n" + "".join(map(klue_ner, annotated)))
    first, second, several = read_tagged_sentences(path)
    assert first.tokens == ["지난", "3월", ",", "김하늘은", "서울", "역에", "갔다ㅋㅋㅋ"]
    assert first.tags == ["B-DT", "L-DT", "O", "U-PS", "B-LC", "L-LC", "O"]
    assert first.written == ["B-DT", "I-DT", "O", "B-PS", "B-LC", "I-LC", "O"]
    assert first.text == "지난 3월, 김하늘은 서울 역에 갔다ㅋㅋㅋㅋㅋ"
    assert (second.tokens, second.tags) == (["눈이"], ["U-PS"])
    assert several.tokens == ["서울시청에", "한일", "월드컵과", "미국"]
    assert several.written == ["B-LC", "B-LC", "B-OG", "B-LC"]


def test_refuses(refusals, snapshot: SnapshotAssertion):
    texts = [
        "a B-X O\n\nb B-Y B-X\n",  # as in GermEval
        "a O\n\nb X O\n",
        "a O\nb O\n\nc O\nd PER\n",
        "EU,B-ORG\n",
        "# sent_id = 1\n1\tEU\tO\tB-ORG\n2\tis\tO\tO\n",
        "#\tn-tv.de\t[2010-03-07]\n1\tEU\tO\tB-ORG\n2\tis\tO\tO\n",  # as in GermEval
        "S 1\tEU\tB-X\nS 1\tis\tO\n\nS 2\tA\tO\nS 2\tB\tO\n",
        "wsj 0 0 She O\nwsj 0 1 ran O\n",
        "#begin document (x); part 0\nx 0 0 a . * - - - - - -\n\n#end document\n",
        "",
        "## klue-ner\n \tO\n",
        "## klue-ner\n나\tO\n너\tX\n",
        *(f"## klue-ner\n{line}" for line in ("나", "나는\tO", "\tO", "나\t", "나 O", " ")),
    ]
    assert refusals(read_tagged_sentences, texts) == snapshot


JANE = TaggedSentence(["Jane", "Lee", "lives", "in", "Seoul"], ["B-PER", "L-PER", "O", "O", "U-LOC"])
GUESS = ["U-PER", "U-PER", "O", "O", "U-LOC"]


def test_all_four_tags_of_a_kind_are_known_and_scored_as_conlleval_does():
    assert TASK.symbols([JANE]) == ["O", *(f"{prefix}-{kind}" for kind in ("LOC", "PER") for prefix in "BILU")]
    scores = TASK.score([JANE], [GUESS])
    assert scores[TASK.metric] == scores["f1"] == pytest.approx(40)  # one right, of three predicted and two gold
    assert scores["precision"] == pytest.approx(100 / 3)
    assert (scores["recall"], scores["token_accuracy"]) == (50, 60)
    assert (scores["f1_LOC"], scores["f1_PER"]) == (100, 0)


def test_tokens_are_compared_in_the_tags_of_the_file():
    guesses = [["O", "U-PER", "O", "O", "U-LOC"], ["U-PER", "O", "O", "O", "U-LOC"]]
    bio, iob1, bioul = "B-PER I-PER O O B-LOC", "I-PER I-PER O O I-LOC", "B-PER L-PER O O U-LOC"
    for written, accuracy in ((bio, 70), (iob1, 80), (bioul, 60)):
        example = TaggedSentence(JANE.tokens, JANE.tags, written.split())
        assert TASK.score([example, example], guesses)["token_accuracy"] == accuracy


def test_drops_the_same_features_at_all_tokens_before_both_layers(stand_in_inputs):
    inputs = stand_in_inputs(["New", "York", "."], input_dim=100)
    tagger = NAMED_ENTITIES.model(inputs, first_dim=50, dropout_rate=0.5)
    seen: list[Tensor] = []
    for layer in (tagger.first, tagger.second):
        layer.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0][0] == 0))
    tagger([TaggedSentence(["New", "York", "."], ["O"] * 3)])
    for dropped in seen:
        assert 25 < dropped[0].sum() < 75  # of 100 features
        assert (dropped == dropped[0]).all()
