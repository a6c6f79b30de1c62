import pytest

from elmokit.text.corpora.klue_ner import TaggedCharacters, begins_klue_ner, tagged_characters


def read(*lines: str) -> list[TaggedCharacters]:
    return list(tagged_characters(lines, name="x.tsv"))


def test_the_characters_of_a_sentence_are_its_text():
    header = ["## 토큰, 레이블 구분자 : \\t", "## 컬럼명 : CHAR\tNE_TAG"]
    first, second = read(
        *header, "## klue-ner-1\t<눈:PS> #", "눈\tB-PS", " \tO", "#\tO", "", "## klue-ner-2\t나", "나\tB-PS"
    )
    assert first == TaggedCharacters("x.tsv", 4, "눈 #", ["B-PS", "O", "O"])
    assert first.where == "x.tsv, lines 4-6"
    assert second == TaggedCharacters("x.tsv", 9, "나", ["B-PS"])


def test_the_first_line_tells_the_format_and_a_comment_ends_a_sentence():
    assert begins_klue_ner("## 토큰, 레이블 구분자 : \\t") and begins_klue_ner("## klue-ner-v1_dev_00000-nsmc\t<눈:PS>")
    assert not begins_klue_ner("## O") and not begins_klue_ner("눈\tO") and not begins_klue_ner("")
    assert [sentence.text for sentence in read("## a", "나\tO", "## b", "너\tO", "")] == ["나", "너"]


@pytest.mark.parametrize("line", ["나", "나는\tO", "\tO", "나\t", "나 O", " "])
def test_a_line_of_another_kind_is_refused(line: str):
    with pytest.raises(ValueError, match=r"x.tsv, line 2: '.*'( \.\.\.)?; expected a character, a tab and its tag"):
        read("## a", line)
