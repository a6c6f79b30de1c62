"""Words with tags: read, written, scored and tagged."""

from pathlib import Path

import pytest

from elmokit.tasks.config import Splits
from elmokit.tasks.tags.task import TASK, TaggedWords, TagsConfig, read_tagged_words
from elmokit.tasks.task import find_task, task_recipe
from elmokit.tasks.task_model import WordTags
from task_examples import new_inputs

TREEBANK = """# newdoc id = a
# text = della casa
1-2\tdella\t_\t_\t_\t_\t_\t_\t_\t_
1\tdi\tdi\tADP\tE\t_\t3\tcase\t_\t_
2\tla\til\tDET\tRD\tGender=Fem|Number=Sing\t3\tdet\t_\t_
2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
3\tcasa\tcasa\tNOUN\tS\tGender=Fem\t0\troot\t_\tSpaceAfter=No

1\tSì\tsì\tINTJ\t_\t_\t0\troot\t_\t_

"""


def read(path: Path, column: str) -> list[list[str]]:
    return [sentence.tags for sentence in read_tagged_words(path, column=column)]


def test_reads_a_column_of_conllu_or_a_feature(write):
    path = write(TREEBANK)
    sentences = list(read_tagged_words(path, column="upos"))
    assert [each.tokens for each in sentences] == [["di", "la", "casa"], ["Sì"]]
    assert [each.document for each in sentences] == [f"{path} a"] * 2
    assert read(path, "upos") == [["ADP", "DET", "NOUN"], ["INTJ"]]
    assert read(path, "Gender") == [["_", "Fem", "Fem"], ["_"]]
    assert read(path, "xpos") == [["E", "RD", "S"], []]  # one word of the second sentence has none
    config = TagsConfig(column="xpos")
    reading = TASK.read(path, config, True)
    assert len(reading.examples) == 1 and reading.skipped == {"sentences with a word without a tag": 1}
    assert [len(TASK.read_to_predict(path, config, as_text=as_text).examples) for as_text in (True, False)] == [2, 1]


def test_a_feature_that_no_word_has_is_reported_with_those_there_are(write, capsys):
    path = write(TREEBANK)
    for column, training, said in (("Gender", True, ""), ("Genus", False, ""), ("Genus", True, "Gender, Number")):
        TASK.read(path, TagsConfig(column=column), training)
        assert capsys.readouterr().err == (said and f"{path}: no word has the feature Genus; the words have {said}\n")


def test_reads_the_last_of_other_columns(write):
    assert list(read_tagged_words(write("It\tx\tPRON\nran\ty\tVERB\n\nYes\tz\tINTJ\n"), column="upos")) == [
        TaggedWords(["It", "ran"], ["PRON", "VERB"]),
        TaggedWords(["Yes"], ["INTJ"]),
    ]
    for text, message in (
        ("", "has no sentence"),
        ("a\n", "line 1: there is one column"),
        ("# text = x\n1\ta\tb\n", "line 2: 3 columns; this CoNLL-U"),
    ):
        with pytest.raises(ValueError, match=message):
            read(write(text), "upos")


@pytest.mark.parametrize("comment", ["#sent_id=1", "#sent_id = 1", "# sent 0", "#", "# ", "#gloss\tx", "# x\ty"])
def test_comments_do_not_decide_whether_a_file_is_conllu(write, comment: str):
    rows = "\t".join(["1", "Sì", "sì", "INTJ", *"______"]) + "\n"
    (sentence,) = read_tagged_words(write(f"{comment}\n{rows}"), column="upos")
    assert (sentence.tokens, sentence.tags) == (["Sì"], ["INTJ"])
    if "\t" not in comment:  # otherwise it has as many cells as a token
        assert list(read_tagged_words(write(f"{comment}\nsì\tA\n\n{comment}\nno\tB\n"), column="upos")) == [
            TaggedWords(["sì"], ["A"]),
            TaggedWords(["no"], ["B"]),
        ]


@pytest.mark.parametrize(
    ("column", "tags", "rows"),
    [
        ("upos", ["X", "Y", "Z"], ["X\tE\t_", "Y\tRD\tGender=Fem|Number=Sing", "Z\tS\tGender=Fem"]),
        ("Gender", ["Masc", "_", "Masc"], ["ADP\tE\tGender=Masc", "DET\tRD\tNumber=Sing", "NOUN\tS\tGender=Masc"]),
        ("Foo", ["_", "a", "_"], ["ADP\tE\t_", "DET\tRD\tFoo=a|Gender=Fem|Number=Sing", "NOUN\tS\tGender=Fem"]),
    ],
)
def test_writes_the_file_with_the_predicted_tags(write, column: str, tags: list[str], rows: list[str]):
    path = write(TREEBANK)
    before = TREEBANK.partition("\n\n")[0]
    after = next(TASK.to_text([(next(read_tagged_words(path, column=column)), WordTags(column, tags, []))]))
    words = [line for line in after.splitlines() if line[0].isdecimal() and line.partition("\t")[0].isdecimal()]
    assert ["\t".join(line.split("\t")[3:6]) for line in words] == rows
    assert [*map(str.split, after.splitlines())][:3] == [*map(str.split, before.splitlines())][:3]
    assert read(write(after), column) == [tags]


def test_comments_that_a_blank_line_separates_are_written_too_and_what_is_left_out_is_counted(write):
    word = "\t".join(["1", "Sì", *"________"])
    path = write(f"# newdoc id = a\n\n# x\n{word}\n\n# y\n{word.replace('1', '1.1')}\n\n{word}\n\n# end\n")
    with pytest.warns(UserWarning, match="without a word are left out, such as '# y': 3 lines in all"):
        first, second = read_tagged_words(path, column="upos")
    written = next(TASK.to_text([(first, WordTags("upos", ["A"], []))]))
    assert written.startswith("# newdoc id = a\n# x\n1\tSì\t")
    assert first.document == second.document == f"{path} a"


@pytest.mark.parametrize(("text", "kept"), [("Dov'è  la\u00a0casa?", True), ("Dove la casa?", False), ("", False)])
def test_the_text_of_a_comment_is_the_text_of_its_words(write, text: str, kept: bool):
    words = ["Dov'", "è", "la", "casa", "?"]
    rows = "".join("\t".join([str(number), word, *"________"]) + "\n" for number, word in enumerate(words, start=1))
    (sentence,) = read_tagged_words(write(f"# text = {text}\n{rows}"), column="Case")
    assert TASK.result(sentence, WordTags("Case", ["_"] * 5, [])).text == (text if kept else " ".join(words))


def test_lemmas_in_the_last_column_are_warned_of(write):
    rows = [f"word{number}\tT{number % 9}\tw{number * 3 // 4}" for number in range(600)]
    sentences = ["\n".join(rows[start : start + 10]) + "\n" for start in range(0, 600, 10)]
    with pytest.warns(UserWarning, match="last of 3 columns .* 375 different values in 500 words.* cut -f 1,2"):
        list(read_tagged_words(write("\n".join(sentences)), column="upos"))
    tags = "\n".join("\t".join(row.split("\t")[:2]) for row in "\n".join(sentences).split("\n"))
    list(read_tagged_words(write(tags), column="upos"))


def test_words_with_learnt_vectors_are_scored_apart():
    examples = [TaggedWords(["the", "cat"], ["DET", "NOUN"]), TaggedWords(["runs"], ["VERB"])]
    made = [WordTags("upos", ["DET", "X"], [True, False]), WordTags("upos", ["VERB"], [False])]
    scores = TASK.score(examples, made)
    assert scores == {"accuracy": pytest.approx(200 / 3), "accuracy_known": 100, "accuracy_unknown": 50}
    assert TASK.score(examples[1:], made[1:]) == {"accuracy": 100, "accuracy_unknown": 100}  # no known word to score
    inputs = new_inputs(task_recipe("tags", "cpu", ["elmo=none", "min_word_count=2"]).inputs, [["The", "the", "cat"]])
    assert inputs.known(["the", "THE", "cat", "dog"]) == [True, True, False, False]


def test_finds_treebanks_and_refuses_other_columns(tmp_path: Path):
    (tmp_path / "la_x-ud-train.conllu").touch()
    assert TASK.find(tmp_path) == Splits(tmp_path / "la_x-ud-train.conllu")
    for part in ("dev", "test"):
        (tmp_path / f"la_x-ud-{part}.conllu").touch()
    assert [path.name for path in (*TASK.find(tmp_path).dev, *TASK.find(tmp_path).test)] == [
        "la_x-ud-dev.conllu",
        "la_x-ud-test.conllu",
    ]
    assert find_task("pos") is TASK
    with pytest.raises(ValueError, match="column is 'lemma'; expected upos, xpos, or the name of a feature"):
        task_recipe("tags", "cpu", ["column=lemma"])
    assert TagsConfig(column="XPOS").column == "xpos"
