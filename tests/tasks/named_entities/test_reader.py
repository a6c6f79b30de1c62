import re
from pathlib import Path

import pytest

from elmokit.tasks.named_entities.reader import TaggedSentence, read_tagged_sentences

CONLL2003 = """-DOCSTART- -X- O O

Ann NNP I-NP I-PER
Lee NNP I-NP I-PER
Bo NNP I-NP B-PER
sings VBZ I-VP O

Seoul NNP I-NP I-LOC
"""


def read(path: Path, **options: str) -> list[TaggedSentence]:
    return list(read_tagged_sentences(path, **options))


def test_reads_conll2003_and_its_iob1(write):
    assert read(write(CONLL2003)) == [
        TaggedSentence(
            ["Ann", "Lee", "Bo", "sings"], ["B-PER", "L-PER", "U-PER", "O"], ["I-PER", "I-PER", "B-PER", "O"]
        ),
        TaggedSentence(["Seoul"], ["U-LOC"], ["I-LOC"]),
    ]
    assert read(write(CONLL2003), scheme="BIO")[0].tags == ["B-PER", "I-PER", "B-PER", "O"]


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
    ],
)
def test_reads_other_data_sets(write, text: str, sentences: list[tuple[list[str], list[str]]]):
    assert [(sentence.tokens, sentence.tags) for sentence in read(write(text))] == sentences


def klue_ner(annotated: str) -> str:
    """Lines of KLUE-NER, for a sentence with its entities as the comment above it writes them: `<서울:LC>에`."""
    rows: list[str] = []
    for outside, entity, label in re.findall(r"([^<]*)(?:<([^>]*):([A-Z]+)>)?", annotated):
        rows += [f"{character}\tO" for character in outside]
        rows += [f"{character}\t{'I' if index else 'B'}-{label}" for index, character in enumerate(entity)]
    return "".join(f"{row}\n" for row in [f"## klue-ner-v1_train_00000-own\t{annotated}", *rows, ""])


def test_the_characters_of_klue_ner_become_tokens_and_a_name_keeps_its_particle(write):
    path = write("\n" + klue_ner("<지난 3월:DT>, <김하늘:PS>은 <서울 역:LC>에 갔다ㅋㅋㅋㅋㅋ") + klue_ner("<눈:PS>이"))
    first, second = read(path)
    assert first.tokens == ["지난", "3월", ",", "김하늘은", "서울", "역에", "갔다ㅋㅋㅋ"]
    assert first.tags == ["B-DT", "L-DT", "O", "U-PS", "B-LC", "L-LC", "O"]
    assert first.written == ["B-DT", "I-DT", "O", "B-PS", "B-LC", "I-LC", "O"]
    assert first.text == "지난 3월, 김하늘은 서울 역에 갔다ㅋㅋㅋㅋㅋ"
    assert (second.tokens, second.tags) == (["눈이"], ["U-PS"])


def test_of_two_entities_in_a_token_of_klue_ner_the_first_is_kept(write):
    (sentence,) = read(write(klue_ner("<서울:LC><시청:OG>에 <한:LC><일 월드컵:OG>과 <미:LC><국:LC>")), scheme="BIO")
    assert list(zip(sentence.tokens, sentence.tags, strict=True)) == [
        ("서울시청에", "B-LC"),
        ("한일", "B-LC"),
        ("월드컵과", "B-OG"),
        ("미국", "B-LC"),
    ]


def test_errors_of_klue_ner_name_the_line(write):
    with pytest.raises(ValueError, match=r"lines 2-3, token 1: the tag 'X' is unknown"):
        read(write("## klue-ner\n나\tO\n너\tX\n"))
    with pytest.raises(ValueError, match="has no sentence"):
        read(write("## klue-ner\n \tO\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a O\nb\n", "data, line 2: 1 columns, but 2 in the lines above: 'b'"),
        ("a B-X O\n\nb B-Y B-X\n", "data, line 3: 'B-X' is in column 3, and others .* in column 2"),  # GermEval
        ("a O\n\nb X O\n", "data, line 3: 3 columns, but 2 at .*data, line 1: 'b' ..."),
        ("a\nb\n", "data, line 1: 'a' has one column; expected a token and its tag"),
        ("a\tO\n\tB-PER\n", "data, line 2: column 1 is empty in"),
        ("a\tO\nb\t\n", "data, line 2: column 2 is empty in"),
        ("a O\nb O\n\nc O\nd PER\n", "data, lines 4-5, token 1: the tag 'PER' is unknown"),
        (
            "EU 7\nis 0\n",
            "data, lines 1-2, token 0: the tag '7' is unknown; .*; write the names that the numbers stand",
        ),
        (
            "EU,B-ORG\n",
            "data, line 1: 'EU,B-ORG' has one column; expected a token and its tag, parted by a tab or spaces",
        ),
        ('{"tokens": ["EU"], "ner_tags": [3]}\n', "data, line 1: this is a line of JSON; expected columns"),
        ("# sent_id = 1\n1\tEU\tB-ORG\n2\tis\tO\n", "data, line 2: the first column numbers the words; expected"),
        ("", "data has no sentence"),
    ],
)
def test_refuses(write, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(write(text))


def test_a_file_without_blank_lines_is_warned_of(write):
    with pytest.warns(UserWarning, match="is one sentence of 1,002 tokens; a blank line ends a sentence"):
        list(read_tagged_sentences(write("EU B-ORG\nrejects O\n" * 501)))
    list(read_tagged_sentences(write("EU B-ORG\n" * 1001 + "\nEU B-ORG\n")))


def test_holds_one_sentence_at_a_time(write):
    path = write("a O\n\nb O\n\nc NONSENSE\n")
    reading = read_tagged_sentences(path)
    assert [next(reading).tokens, next(reading).tokens] == [["a"], ["b"]]
