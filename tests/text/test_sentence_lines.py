import textwrap
from pathlib import Path

import pytest

from elmokit.text.sentence_lines import prose_lines, sentence_lines

RAW = "The bank (on Main St.) raised its rates; customers weren't happy!\nI saw it, too.\n"
BOOK = textwrap.fill("It was a bright cold day in April, and the clocks were striking thirteen. " * 9, 66)
CONLLU = "# sent_id = 1\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n" + "".join(
    f"{number}\t{word}\t{word}\tX\t_\t_\t_\t_\t_\t_\n" for number, word in enumerate(["do", "n't", "10 000"], start=1)
)


def conllu(*rows: str) -> str:
    """Rows of ten columns, from ids and words; comments and blank lines stay as they are."""
    cells = ("\t".join([*row.split(" "), *"_" * 8]) if row[:1] not in ("#", "") else row for row in rows)
    return "".join(f"{row}\n" for row in cells)


VERTICAL = "<s>\nThe\tDT\n<g/>\n10 000\tCD\n</s>\n<s>\n<\tSYM\nWe\tPRP\n</s>\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.txt"


def rows(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


TIMES = "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\nThe cat sat down here.\n\n" for n in range(1, 9))
CHAT = rows("@UTF8", "@Begin", "@Languages:\teng", "*MOT:\tdo you ?", "%mor:\tmod|do pro|you ?")
WIDE = rows("# sent_id = 1", *(f"{n}\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\t_\tA0" for n in (1, 2, 3)))
SPACES = "".join(f"{n}    The    the    DET    DT    _    2    det    _    _\n" for n in (1, 2, 3))
HIPE = rows(
    "TOKEN\tNE\tMISC", "# document_id = a", "# date = 1900", "The\tO\t_", "king\tO\t_", "", "# x = b", "A\tO\t_"
)

BIBTEX = "@book{a,\n  title = {On {Banks}},\n  year = 1900,\n}\n@book{b,\n  title={Ducks},\n  year={1901}\n}\n"
PRAAT = "xmin = 0\nxmax = 1\nitem []:\n" + "".join(
    f'    intervals [{n}]:\n      xmin = {n}\n      xmax = {n + 1}\n      text = "we"\n' for n in (1, 2, 3)
)
TOOLBOX = "\\_sh v3.0  400  Text\n\n" + "\\lx bank\n\\ps n\n\\ge Ufer\n\\ex Am\nUfer .\n\\rf\n\n" * 3


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (BIBTEX, "fields, with a key at the start of each line: "),
        (f"An account of .\n% of banks\n\n{BIBTEX}", "fields"),
        ("[core]\nname = a\nbare=no\n; text\n[user]\nname = b\nemail = c\n", "fields"),
        ("PATH=/bin:/x\nexport X\nHOME=/root\nPATH=/y\nHOME=/z\n", "fields"),
        (f'File type = "ooTextFile"\nObject class = "TextGrid"\n\n{PRAAT}', "fields"),
        (TOOLBOX, "fields"),
        (
            rows("\\id GEN", "\\c 1", "\\p", "\\v 1 In the beginning", "\\v 2 And the earth", "\\p", "\\v 3 And"),
            "fields",
        ),
        (rows("#: a.c:1", 'msgid ""', 'msgstr ""', '"Language: de\\n"', "", 'msgid "We"', 'msgstr[0] "Wir"'), "fields"),
        (rows('msgid ""', 'msgstr ""', *(f'"Key-{n}: x\\n"' for n in range(18))), "fields"),
        (rows(*["TY  - JOUR", "AU  - We", "AU  - You", "TI  - On banks", "ER  - "] * 3), "fields"),
        (rows(*["%0 Book", "%A We", "%T On banks"] * 2), "fields"),
        ('{"text": "We sat."}\n{"text": "You"}\n', "JSON: .* --column FIELD"),
        ('[\n  {\n    "text": "We sat"\n  }\n]\n', "JSON: .* jq"),
        ('["We", "sat"]\n["You"]\n', "JSON: "),
        ('[\n  "The cat sat .",\n  "The dog ran ."\n]\n', "JSON: "),
        ("[\n  1.5,\n  2\n]\n", "JSON: "),
        ("[[1, 2], [3]]\n", "JSON: "),
        ("{\n}\n", "JSON: "),
        (CONLLU, "columns separated by tabs: .* --column form"),
        (WIDE, "columns separated by tabs: .* --column form"),
        ("# x = y\n" * 30 + CONLLU, "columns separated by tabs"),
        (rows("# sent_id = 1", "1\tThe\tthe\tDET\t\t_", "2\tcat\tcat\tNOUN\t\t_"), "columns separated by tabs"),
        ("# global.columns = ID FORM\n1\tWe\n2\tsat\n", "columns separated by tabs: .* --column form"),
        (SPACES, "columns, with a token on each line"),
        ("EU NNP B-ORG\nrejects VBZ O\na NN O\n\nPeter NNP B-PER\n", "columns, with a token .*: docs/vectors.md"),
        ("#begin document (x); part 000\nx 0 0 a - -\nx 0 1 b * -\nx 0 2 c (A0*) -\n", "columns, with a token"),
        ("The DT\nbank NN\n\nWe PRP\n. .\n", "columns, with a token"),
        (HIPE, "columns separated by tabs: .* --column NAME"),
        (
            rows("#\tsource\t[2009]", "1\tThe\tO\tO", "2\tcat\tO\tO", "", "#\tsource\t[2010]"),
            "columns separated by tabs",
        ),
        (rows("# pairs", "# Word 1\tWord 2\tScore", "old\tnew\t1.5", "hot\tcold\t3"), "columns separated by tabs"),
        (rows("#FORMAT=WebAnno", "#Text=The cat", "1-1\t0-3\tThe\t_", "1-2\t4-7\tcat\t_"), "columns separated by tabs"),
        (rows("The\t1\tA0", "cat\t2\tV\tA1", "sat"), "columns separated by tabs"),
        ("item\tsentence\n1\tWe sat .\n", "columns separated by tabs: .* cut -f N"),
        (VERTICAL, "columns separated by tabs"),
        (f'<doc id="1">\n{VERTICAL}</doc>\n', "columns separated by tabs"),
        (CHAT, "a transcript in CHAT: .* sed -n"),
        (TIMES, "subtitles: .* sed '/-->/d;"),
        (f"WEBVTT\n\n{TIMES.replace(',', '.')}", "subtitles: "),
        (f"12:00:01,5 o'clock\n{TIMES}", "subtitles: "),
        ("0:00:01.599,0:00:02.160\nThe cat sat .\n\n" * 5, "subtitles: "),
        ("[00:12.10]The cat sat .\n[00:14.20]It slept .\n", "subtitles: "),
        ("12/03/2020, 10:22 - Anna: hi\n12/03/2020, 10:23 - Bo: hello\n", "a chat or a log"),
        ("[10:05] <anna> hi\n[10:06] <bo> hello you\n", "a chat or a log"),
        ("2024-01-02 10:00:05 INFO x: The cat\n" * 3, "a chat or a log"),
        (rows("A corpus", *['{"text": "We sat ."}'] * 5), "JSON: "),
        (rows("// made by x", '{"a": 1,', '"b": "We sat",', '"c": "You ran"', "}"), "JSON: "),
        ("<s>\nThe DT the\ncat NN cat\nsat VBD sit\n</s>\n" * 5, "columns, with a token on each line"),
        (rows("The DET 2 det", "cat NOUN 3 nsubj", "sat VERB 0 root"), "columns, with a token on each line"),
        (">b\nMHLRHLF*\n>c\nMK\n", "FASTA: elmokit embed --fasta"),
        (";from PDB\n> chr1 human\nACGTNNacgtacgt\nacg\n", "FASTA: "),
        (">P1\n>P2\nMK\n>P3\nmkv..LAAGI--VG\n", "FASTA: "),
        (">P1\nMKVLAAGIVG LLLAQWERTY PSD\n", "FASTA: "),
        ('<?xml version="1.0"?>\n<TEI>\n<p>We sat.</p>\n', "XML or HTML: .* pandoc"),
        ("<!DOCTYPE html>\n<p>We sat.\n", "XML or HTML: "),
        ('<doc id="1" title="x">\nWe sat .\n</doc>\n', "XML or HTML: "),
        ('<s>\n<w pos="DT">The</w>\n', "XML or HTML: "),
        ("<!-- A corpus\nof ours\n-->\n<TEI>\n", "XML or HTML: "),
        ("<TEI.2>\n<teiHeader>\n<title>We</title>\nsat\n", "XML or HTML: "),
        ("<sent> We sat . </sent>\n<sent> You ran . </sent>\n", "XML or HTML: "),
        ("id|text\n1|We sat .\n", "a table of cells .* --column NAME"),
        ('1,"We sat, there ."\n0,"You ran ."\n', "a table of cells"),
        ('"We sat .",1\n"You ran .",0\n', "a table of cells"),
        ("sep=;\nid;text\n1;We sat\n", "a table of cells"),
        (",text\n0,We sat\n", "a table of cells"),
        ('id,text\n1,"The bank\nis, too"\n2,We sat\n', "a table of cells"),
        (f"id,text\n1,{'a b ' * 40_000}c\n", "a table of cells"),
        (
            rows("id,text,label", "1,The cat sat down,x", "2,The dog ran off ,y", "3,A bird flew,x"),
            "a table of cells",
        ),
        (rows("id,text (de),label", "1,The cat sat down,x", "2,The dog ran off,y"), "a table of cells"),
        (rows("id,text,label,", "1,The cat sat down,x,", "2,The dog ran off,y,"), "a table of cells"),
        (rows("번호,문장", "1,눈이 왔다 .", "2,비가 왔다 ."), "a table of cells"),
        (rows("id, text, label", "1, The cat sat, x", "2, The dog ran, y"), "a table of cells"),
        (rows("text,label", *["The cat sat,x"] * 18, "a short row"), "a table of cells"),
    ],
)
def test_what_most_lines_show_not_to_be_text_is_refused_unless_it_is_to_be_text(path: Path, text: str, what: str):
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"t\.txt looks like {what}.*\. --as-text, or as_text=True, reads the file"):
        list(sentence_lines(path))
    assert list(prose_lines(path, as_text=True)) == text.removesuffix("\n").split("\n")
    if "tabs" not in what:
        with pytest.raises(ValueError, match=what):
            list(sentence_lines(path, has_columns=True))


def test_tabs_may_separate_columns(path: Path):
    path.write_text("We sat .\t1\nYou ran .\t2\n")
    assert list(sentence_lines(path, has_columns=True)) == ["We sat .\t1", "You ran .\t2"]


@pytest.mark.parametrize(
    "text",
    [
        "\n\n",
        "We sat . You ran . It rained .\nI saw .\n",
        "Mr. Smith of Apple Inc. left at 5 p.m. with Dr. Lee\netc. Jr. approx.\n",
        "눈이 왔다 . 그래서 우리는 나가서 , 눈사람을 만들었다 .\n",
        "我 喜歡 你 ， 真 的 。\n你 呢 ？\n",
        "你好,世界\n他说,好\n",
        "M H L R H L F G G\n" * 30,
        "MHLRHLF\nMKL\n",
        "import os\nfor i in range(10):\n    print(i, x)\n    foo(bar, baz);\nelse:\n  return x;\n",
        "{ return x ; }\n[ 1 ] Introduction\n[2] x\n",
        '{"a": 1} is JSON\nhello\n',
        "[1]\nWe sat .\nYou ran .\n",
        "Two roads diverged in a yellow wood ,\nAnd sorry I could not travel both\n" * 9,
        "so much depends\nupon\n\na red wheel\nbarrow\n" * 9,
        "omg lol !!! @bob :) http://t.co/x\n#win so happy ... :D\n",
        "#win so happy\n#fail\n",
        "1,000 people came\n2,500 went\n",
        "apples,pears\nred,green\none,two\n",
        "In 1990, we sat\nIn 1991, you ran\nIn 1992, it rained\n",
        "Yes,no\nI came, I saw\n",
        "The cat\tsat\nA dog\nIt ran\n",
        "a\tb c\n",
        "\tWe sat .\n\tYou ran .\n\tIt rained .\n",
        "<user> hi\n<user> <hashtag> good\n",
        "\\alpha and \\beta\n\\gamma too .\n",
        "\\item one\n\\item two\n\\item three\n",
        "> quoted text of a mail\nUnfortunately , no .\n> NASA\nOK\n",
        "".join(f"word{number}\n" for number in range(30)),
        "I see .\nYes\n" * 20,
        '"Yes", he said .\n"No", she said .\n"I," he said, "do."\n',
        "<S>\n</S>\n<UNK>\nthe\n",
        "<s> We sat . </s>\n<s> You ran . </s>\n",
        "## A heading\n#tag and/or more@ here\n" * 9,
        "«GUÐ» SÁ «MAÇÃ» & Co .\n" * 9,
        "Spaß“ CAFÉ’s «CITÉ» NESTLÉ® 12 Å³ ½×½ Úžasný allé…» .\n" * 9,
        '" Yes , we do . "\n" No "\nWe " do "\n',
        "text and tokens\nreview\n",
        "review\nThe film was good .\n",
        "GO HOME\nTHE END\nIN FRONT\n",
        f"a,{'x' * 140_000}\nb,c\n",
        "10:30 we sat .\nYou ran at 11:00 .\nIt rained .\n",
        "1990 was cold .\n1991 was warm .\n1993 was wet .\n",
        '"Yes .\n"No .\n"[ sic ]\n"I do .\n',
        "I saw NASA .\nYou saw NATO .\nWe saw it .\n",
    ],
)
def test_honest_text_is_read_without_a_word(path: Path, text: str):
    path.write_text(text, newline="")
    assert list(sentence_lines(path)) == text.removesuffix("\n").split("\n")[: text.count("\n")]


@pytest.mark.parametrize(
    "text",
    [
        "Scene I\n[ Enter Anna ]\nANNA : Yes .\nBO : No .\nANNA : I = you !\n[ Exit ]\n" * 3,
        "A: hi you\nB: hello\nA: how = now ?\n" * 5,
        "bank = Ufer\nduck = Ente\ncat = Katze\nto sit = sitzen\n",
        "bank: the land at a river\nduck: a bird\nbank: a house of money\n",
        "x = 3 + 4\ny = 7\nx = y - 1\n" * 5,
        "[ Chorus ]\nOh yes\n[Verse 1]\nOh no\n[Chorus]\nOh yes\n[Verse 2]\nWell\n",
        "(a) the first thing;\n(b) the second thing;\n(c) the third; and\n(d) all of it.\n",
        "O rose;\nO thorn;\nAnd all that is not born;\nNor sworn.\n" * 3,
        "if ( a ) {\nreturn b ;\n} else {\nreturn c ;\n}\nbody = d ;\n",
        "We call f(x);\nthen the block ends with\n}\nand nothing is left .\nSo x = f(x);\nis all .\n",
        "@anna yes !\nGOOD\n+ 1\n@bo no\nBAD\n+1\n",
        "“Arma virumque cano;\nTroiae qui primus ab oris;\nItaliam venit .\n" * 5,
        "갑 : 네 .\n을 : 아니오 ;\n갑 = 을 ?\n" * 5,
        "Haus - house\nHund - dog\ndas Tier - animal\nKatze - cat\n",
    ],
)
def test_text_with_a_few_marks_of_fields_and_programs_is_not_refused(path: Path, text: str):
    path.write_text(text)
    assert list(prose_lines(path)) == text.removesuffix("\n").split("\n")


@pytest.mark.parametrize("text", ["A dog .\nThe mouse ran .\rA cat sat .\n", "1%\n2%\r3%\r\n", "a\nb\r\r\n"])
def test_lines_of_old_macs_are_noticed_anywhere_but_in_tables(path: Path, text: str):
    path.write_text(text, newline="")
    with pytest.raises(ValueError, match=r"t\.txt, line 2: its lines end as on old Macs; .* tr '\\r' '\\n'"):
        list(sentence_lines(path))
    path.write_text('id,text\n1,"a\rb"\n', newline="")
    assert list(sentence_lines(path, column="text")) == ["a b"]


@pytest.mark.parametrize(
    ("text", "example"), [(RAW, "St"), ("눈이 왔다. 우리는 나가서, 놀았다.\n", "왔다"), (BOOK, "April,")]
)
def test_raw_text_is_warned_of_once_unless_it_will_be_tokenised(path: Path, text: str, example: str):
    path.write_text(text * 99)
    with pytest.warns(
        UserWarning,
        match=rf"t\.txt looks like raw text: .*such as '{example}.*--tokenize, or raw_text=True.*elmokit prepare",
    ) as warned:
        list(sentence_lines(path))
    assert len(warned) == 1
    path.write_text("It was .\n" * 500 + text * 99)  # what follows the beginning is not looked at
    list(sentence_lines(path))


def test_lines_that_are_broken_at_a_width_are_warned_of(path: Path):
    path.write_text(BOOK)
    with pytest.warns(UserWarning, match="look broken at a width, .* embed --split-sentences join them") as warned:
        list(sentence_lines(path, raw_text=True))
    assert len(warned) == 1
    list(prose_lines(path))  # warnings are errors in these tests
    path.write_text(RAW)
    list(sentence_lines(path, raw_text=True))


@pytest.mark.parametrize(
    ("text", "column", "lines"),
    [
        ('{"text": "We sat ."}\n\n{"text": "You\\nran ."}\n', "text", ["We sat .", "You ran ."]),
        ('{"tokens": ["We", "sat"]}\n{"tokens": []}\n{"tokens": ["You"]}\n', "tokens", ["We sat", "", "You"]),
        ("id\tText\n1\tWe sat .\n", "text", ["We sat ."]),
        ('id,text\n1,"We, ""x"" sat"\n2,"a\nb"\n', "text", ['We, "x" sat', "a b"]),
        ("id|text\n1|We sat .\n", "Text", ["We sat ."]),
        ("번호,문장\n1,눈이 왔다 .\n", "문장", ["눈이 왔다 ."]),
        ("# x = y\n" * 30 + (CONLLU + "\n") * 9, "FORM", ["do n't 10\u00a0000"] * 9),
        ("# global.columns = ID FORM x:Y\n1-2\tdu\t_\n1\tde\tA\n2\tle\tB\n", "form", ["de le"]),
        ("# global.columns = FORM x:Y\nde\tA\nle\tB\n", "x:Y", ["A B"]),
        ("# global.columns = FORM x:Y\n# a b\nwe\tA\n#tag\tB\n#\tC\n\n# t\tD\n", "form", ["we #tag #", "#\u00a0t"]),
        ("# global.columns = FORM\n#text = a b\nde\n#\na b\n\n#le\n", "form", ["de # a\u00a0b", "#le"]),
    ],
)
def test_a_column_is_read_as_lines(path: Path, text: str, column: str, lines: list[str]):
    path.write_text(text)
    assert list(sentence_lines(path, column=column)) == lines
    path.with_suffix(".csv").write_text('text\n"We sat, there ."\nYou ran .\n')  # of one column, which has quotes
    assert list(sentence_lines(path.with_suffix(".csv"), column="text")) == ["We sat, there .", "You ran ."]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ('{"t": "x"}\n', {"column": "text"}, "line 1: field text: is missing; there are t"),
        ('[{"t": "x"}, {"t": "y"}]', {"column": "t"}, r"is a JSON array; expected JSON lines, which jq -c '\.\[\]'"),
        ('\n[\n  {\n    "t": "x"\n  }\n]\n', {"column": "t"}, "is a JSON array"),
        ('{"t": ["a", "b\\u0000"]}\n', {"column": "t"}, "line 1: field t: has a NUL character; remove it"),
        ('{"t": "a"}\n{"t": "\\u0000"}\n', {"column": "t", "raw_text": True}, "line 2: field t: has a NUL character"),
        (
            '{"t": ["a"]}\n',
            {"column": "t", "raw_text": True},
            "line 1: field t: is a list; .* and --words",
        ),
        (
            '{"t": ["a b"]}\n',
            {"column": "t"},
            "line 1: field t: is .*; expected text, or a list of words",
        ),
        ('{"t": 1}\n', {"column": "t"}, "line 1: field t: is '1'; expected text, or a list of words"),
        ("id\tx\n1\ty z\n", {"column": "text"}, "line 1: the header has no column text"),
        ("We sat .\n", {"column": "text"}, "line 1: the header has no column text"),
        (CONLLU, {"column": "word"}, "is CoNLL-U; expected one of its columns, id, form,.* not word"),
        (
            CONLLU + "\n" + CONLLU + "4\tx\n",
            {"column": "form"},
            "line 12: 2 columns; this CoNLL-U has 10",
        ),
        (CONLLU, {"column": "form", "raw_text": True}, "is CoNLL-U. Its tokens are not tokenised .* and --words"),
        (
            WIDE,
            {"column": "form"},
            "line 2: 12 columns; this CoNLL-U has 10.*; keep these with cut -f 1-10",
        ),
        (CONLLU.replace("X", ""), {"column": "form"}, "line 3: column 4 is empty"),
        (conllu("1 The", "# note", "2 cat"), {"column": "form"}, "line 2: a comment inside a sentence; put it before"),
        (conllu("1 The", "2 cat", "3. sat"), {"column": "form"}, "line 3: the id is '3.'; expected N, N-M or N.M"),
        (conllu("1 The", "- cat"), {"column": "form"}, "line 2: the id is '-'"),
        (conllu("1 The", "٢ cat"), {"column": "form"}, "line 2: the id is '٢'"),
        (conllu("1 The", "2 cat", "1 A", "2 dog"), {"column": "form"}, "line 3: word 1 after word 2; is a blank line"),
        (conllu("# a = b", "1 _", "2 _", "", "1 _"), {"column": "form"}, "the column form is empty .* in the first"),
    ],
)
def test_a_column_that_is_not_there_is_refused(path: Path, text: str, options: dict[str, object], message: str):
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"t\.txt[,:]? {message}"):
        list(sentence_lines(path, **options))


@pytest.mark.parametrize(
    ("line", "looks_like"),
    [
        ("The bank ra@@ ised its ra@@ tes .", "such as 'ra@@', look like pieces of words"),
        ("The bank ra ##ised its ra ##tes .", "such as '##ised', look like pieces of words"),
        ("\u2581The \u2581bank \u2581ra ised .", "look like pieces of words"),
        ("The \u0120bank \u0120rose \u0120.", "look like pieces of words"),
        ("The_DT bank_NN rose_VBD ._.", "look like words with parts of speech"),
        ("the/at bank/nn rose/vbd ./.", "look like words with parts of speech"),
        ("(S (NP (DT The) (NN bank)) (VP (VBD rose)) (. .))", "look like parts of trees in brackets"),
        ("101 1996 2924 102", "look like numbers, such as ids of another vocabulary"),
        (f"the {'0.418 -0.25 1e-05 ' * 9}", "look like numbers, .* or vectors"),
        ("S This are it .\nA 1 2|||R:VERB|||is|||REQUIRED|||-NONE-|||0", "look like annotations between bars, as"),
        ("the Black @-@ and @-@ white army", "such as '@-@', look like marks of WikiText"),
        ("\\section{{On banks}} we sat on it .", r"such as .\\\\section\{On., look like commands of LaTeX"),
        ('"We sat ."', "lines of .* are in quotation marks"),
        ("__label__pos The film was good .", "such as '__label__pos', look like labels"),
        ("['We', 'sat', '.']", "such as .* look like lists, as Python writes them"),
        ("it &apos;s a film", "such as '&apos;s', look like markup or its escapes"),
        ("A film.<br /><br />Good, too", "look like markup or its escapes"),
        ("GrÃ¶ÃŸe is here", "look like letters that a wrong encoding has damaged"),
        ("itâ€™s here now", "look like letters that a wrong encoding has damaged"),
        ("Î· Î³Î¬Ï„Î± is here", "look like letters that a wrong encoding has damaged"),
        ("고양이 is here".encode().decode("latin-1"), "look like letters that a wrong encoding has damaged"),
        ("le c\x9cur bat", "look like letters that a wrong encoding has damaged"),
        ("du\u00a0roi est là", r"such as 'du\\xa0roi', look like words with invisible characters or unusual spaces"),
        ("avec\u200bla main ici", "look like words with invisible characters"),
        ("Gr\ufffde is here", "look like letters that a wrong encoding has damaged"),
        ("He left . Mary cried .", "look like several sentences, such as 'He left"),
        ("He left . Mary cried . " * 100, "look like several sentences, such as 'He left"),
        (
            "The\nbank,\n“raised”\nits\nrates.",
            "each line of .* looks like one word, .*docs/vectors.md has a command",
        ),
        ("눈이\n왔다\n.", "each line of .* looks like one word"),
        *((f"{{}}{mark} The bank rose .", "the lines of .* are numbered") for mark in ("", ".", ")", " :")),
    ],
)
def test_what_other_tools_write_is_warned_of(path: Path, line: str, looks_like: str):
    path.write_text("".join(f"{line.format(number)}\n" for number in range(9)))
    with pytest.warns(UserWarning, match=looks_like) as warned:
        list(sentence_lines(path))
    assert len(warned) == 1
