import textwrap
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.text.sentence_lines import prose_lines, sentence_lines
from refusals import refusals, refused_files

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


NOT_TEXT = (
    # fields
    *(BIBTEX, f"An account of .\n% of banks\n\n{BIBTEX}", TOOLBOX),
    "[core]\nname = a\nbare=no\n; text\n[user]\nname = b\nemail = c\n",
    "PATH=/bin:/x\nexport X\nHOME=/root\nPATH=/y\nHOME=/z\n",
    f'File type = "ooTextFile"\nObject class = "TextGrid"\n\n{PRAAT}',
    rows("\\id GEN", "\\c 1", "\\p", "\\v 1 In the beginning", "\\v 2 And the earth", "\\p", "\\v 3 And"),
    rows("#: a.c:1", 'msgid ""', 'msgstr ""', '"Language: de\\n"', "", 'msgid "We"', 'msgstr[0] "Wir"'),
    rows('msgid ""', 'msgstr ""', *(f'"Key-{n}: x\\n"' for n in range(18))),
    rows(*["TY  - JOUR", "AU  - We", "AU  - You", "TI  - On banks", "ER  - "] * 3),
    rows(*["%0 Book", "%A We", "%T On banks"] * 2),
    # FASTA
    *(">b\nMHLRHLF*\n>c\nMK\n", ">P1\n>P2\nMK\n>P3\nmkv..LAAGI--VG\n", ">P1\nMKVLAAGIVG LLLAQWERTY PSD\n"),
    ";from PDB\n> chr1 human\nACGTNNacgtacgt\nacg\n",
    # JSON
    *('{"text": "We sat."}\n{"text": "You"}\n', '[\n  {\n    "text": "We sat"\n  }\n]\n', '["We", "sat"]\n["You"]\n'),
    *('[\n  "The cat sat .",\n  "The dog ran ."\n]\n', "[\n  1.5,\n  2\n]\n", "[[1, 2], [3]]\n", "{\n}\n"),
    rows("A corpus", *['{"text": "We sat ."}'] * 5),
    rows("// made by x", '{"a": 1,', '"b": "We sat",', '"c": "You ran"', "}"),
    # columns separated by tabs
    *(CONLLU, WIDE, HIPE, VERTICAL, f'<doc id="1">\n{VERTICAL}</doc>\n', "# x = y\n" * 30 + CONLLU),
    rows("# sent_id = 1", "1\tThe\tthe\tDET\t\t_", "2\tcat\tcat\tNOUN\t\t_"),
    *("# global.columns = ID FORM\n1\tWe\n2\tsat\n", "item\tsentence\n1\tWe sat .\n"),
    rows("#\tsource\t[2009]", "1\tThe\tO\tO", "2\tcat\tO\tO", "", "#\tsource\t[2010]"),
    rows("# pairs", "# Word 1\tWord 2\tScore", "old\tnew\t1.5", "hot\tcold\t3"),
    rows("#FORMAT=WebAnno", "#Text=The cat", "1-1\t0-3\tThe\t_", "1-2\t4-7\tcat\t_"),
    rows("The\t1\tA0", "cat\t2\tV\tA1", "sat"),
    # columns, with a token on each line
    *(SPACES, "The DT\nbank NN\n\nWe PRP\n. .\n", "<s>\nThe DT the\ncat NN cat\nsat VBD sit\n</s>\n" * 5),
    "EU NNP B-ORG\nrejects VBZ O\na NN O\n\nPeter NNP B-PER\n",
    "#begin document (x); part 000\nx 0 0 a - -\nx 0 1 b * -\nx 0 2 c (A0*) -\n",
    rows("The DET 2 det", "cat NOUN 3 nsubj", "sat VERB 0 root"),
    # transcripts, subtitles, chats and logs
    *(CHAT, TIMES, f"WEBVTT\n\n{TIMES.replace(',', '.')}", f"12:00:01,5 o'clock\n{TIMES}"),
    "0:00:01.599,0:00:02.160\nThe cat sat .\n\n" * 5,
    "[00:12.10]The cat sat .\n[00:14.20]It slept .\n",
    "12/03/2020, 10:22 - Anna: hi\n12/03/2020, 10:23 - Bo: hello\n",
    *("[10:05] <anna> hi\n[10:06] <bo> hello you\n", "2024-01-02 10:00:05 INFO x: The cat\n" * 3),
    # XML or HTML
    *('<?xml version="1.0"?>\n<TEI>\n<p>We sat.</p>\n', "<!DOCTYPE html>\n<p>We sat.\n"),
    *('<doc id="1" title="x">\nWe sat .\n</doc>\n', '<s>\n<w pos="DT">The</w>\n'),
    "<!-- A corpus\nof ours\n-->\n<TEI>\n",
    "<TEI.2>\n<teiHeader>\n<title>We</title>\nsat\n",
    "<sent> We sat . </sent>\n<sent> You ran . </sent>\n",
    # a table of cells
    *("id|text\n1|We sat .\n", '1,"We sat, there ."\n0,"You ran ."\n', '"We sat .",1\n"You ran .",0\n'),
    *("sep=;\nid;text\n1;We sat\n", ",text\n0,We sat\n", 'id,text\n1,"The bank\nis, too"\n2,We sat\n'),
    f"id,text\n1,{'a b ' * 40_000}c\n",
    rows("id,text,label", "1,The cat sat down,x", "2,The dog ran off ,y", "3,A bird flew,x"),
    rows("id,text (de),label", "1,The cat sat down,x", "2,The dog ran off,y"),
    rows("id,text,label,", "1,The cat sat down,x,", "2,The dog ran off,y,"),
    rows("번호,문장", "1,눈이 왔다 .", "2,비가 왔다 ."),
    rows("id, text, label", "1, The cat sat, x", "2, The dog ran, y"),
    rows("text,label", *["The cat sat,x"] * 18, "a short row"),
    # programs and reads of a sequencer
    "int f(int a) {\n  a = g(a);\n  if (a) {\n    return 1;\n  }\n  return 2;\n}\n",
    rows(".a b {", "  color: red;", "  margin: 0;", "}", "h1 { x: y }", "p {", "  top: 0;", "});"),
    rows(*["@r1 1:N:0", "GATTTGGGGTTCAA", "+", "!''*((((***+))"] * 3),
    rows(*["@r1", "GATTNN", "+r1", "@;+*(("] * 2),
)


def test_what_most_lines_show_not_to_be_text_is_refused_unless_it_is_wanted(path: Path, snapshot: SnapshotAssertion):
    said = refused_files(lambda path: list(sentence_lines(path)), path, NOT_TEXT)
    assert said == snapshot
    for text, message in zip(NOT_TEXT, said, strict=True):
        path.write_text(text)
        assert list(prose_lines(path, as_text=True)) == text.removesuffix("\n").split("\n")
        if "tabs" not in message:
            with pytest.raises(ValueError, match="looks like"):
                list(sentence_lines(path, has_columns=True))


def test_tabs_may_separate_columns(path: Path):
    path.write_text("We sat .\t1\nYou ran .\t2\n")
    assert list(sentence_lines(path, has_columns=True)) == ["We sat .\t1", "You ran .\t2"]


HONEST = (
    "\n\n",
    "We sat . You ran . It rained .\nI saw .\n",
    "Mr. Smith of Apple Inc. left at 5 p.m. with Dr. Lee\netc. Jr. approx.\n",
    "눈이 왔다 . 그래서 우리는 나가서 , 눈사람을 만들었다 .\n",
    *("我 喜歡 你 ， 真 的 。\n你 呢 ？\n", "你好,世界\n他说,好\n"),
    *("M H L R H L F G G\n" * 30, "MHLRHLF\nMKL\n"),
    "import os\nfor i in range(10):\n    print(i, x)\n    foo(bar, baz);\nelse:\n  return x;\n",
    *("{ return x ; }\n[ 1 ] Introduction\n[2] x\n", '{"a": 1} is JSON\nhello\n', "[1]\nWe sat .\nYou ran .\n"),
    "Two roads diverged in a yellow wood ,\nAnd sorry I could not travel both\n" * 9,
    "so much depends\nupon\n\na red wheel\nbarrow\n" * 9,
    *("omg lol !!! @bob :) http://t.co/x\n#win so happy ... :D\n", "#win so happy\n#fail\n"),
    *("1,000 people came\n2,500 went\n", "apples,pears\nred,green\none,two\n", "Yes,no\nI came, I saw\n"),
    "In 1990, we sat\nIn 1991, you ran\nIn 1992, it rained\n",
    *("The cat\tsat\nA dog\nIt ran\n", "a\tb c\n", "\tWe sat .\n\tYou ran .\n\tIt rained .\n"),
    *("<user> hi\n<user> <hashtag> good\n", "<S>\n</S>\n<UNK>\nthe\n", "<s> We sat . </s>\n<s> You ran . </s>\n"),
    *("\\alpha and \\beta\n\\gamma too .\n", "\\item one\n\\item two\n\\item three\n"),
    "> quoted text of a mail\nUnfortunately , no .\n> NASA\nOK\n",
    *("".join(f"word{number}\n" for number in range(30)), "I see .\nYes\n" * 20),
    '"Yes", he said .\n"No", she said .\n"I," he said, "do."\n',
    *("## A heading\n#tag and/or more@ here\n" * 9, "«GUÐ» SÁ «MAÇÃ» & Co .\n" * 9),
    "Spaß“ CAFÉ’s «CITÉ» NESTLÉ® 12 Å³ ½×½ Úžasný allé…» .\n" * 9,
    *('" Yes , we do . "\n" No "\nWe " do "\n', '"Yes .\n"No .\n"[ sic ]\n"I do .\n'),
    *("text and tokens\nreview\n", "review\nThe film was good .\n", "GO HOME\nTHE END\nIN FRONT\n"),
    f"a,{'x' * 140_000}\nb,c\n",
    *("10:30 we sat .\nYou ran at 11:00 .\nIt rained .\n", "1990 was cold .\n1991 was warm .\n1993 was wet .\n"),
    "I saw NASA .\nYou saw NATO .\nWe saw it .\n",
)


@pytest.mark.parametrize("text", HONEST)
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
    with pytest.raises(ValueError, match=r"t\.txt, line 2: the file has the line ends of old Macs; .* tr '\\r' '\\n'"):
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
    path.write_text("It was .\n" * 500 + text * 99)  # only the beginning is checked
    list(sentence_lines(path))


@pytest.mark.parametrize(
    "text",
    [
        BOOK,
        f"THE PROJECT GUTENBERG EBOOK OF{' ONE BRIGHT DAY' * 5}\n\n{BOOK}",
        *(
            textwrap.fill(f"{words} " * 20, 66)
            for words in (
                *(
                    "בית הספר היה קרוב אל הים הגדול",
                    "كان البيت قريبا من البحر الكبير جدا",
                    "ეს იყო ცივი დღე აპრილში და საათი",
                ),
                *("यह अप्रैल का ठंडा दिन था और घड़ी", "사월의 어느 맑고 추운 날이었고 시계가 열세 번을 쳤다"),
            )
        ),
    ],
)
def test_lines_that_are_broken_at_a_width_are_warned_of(path: Path, text: str):
    path.write_text(text)
    with pytest.warns(UserWarning, match="look wrapped at a fixed width, .* embed --split-sentences join") as warned:
        list(sentence_lines(path, raw_text=True))
    assert len(warned) == 1
    list(prose_lines(path))  # warnings are errors in these tests


@pytest.mark.parametrize(
    "words",
    [
        "冷たい四月の日だった",
        "四月里一个晴朗的日子",
        "오늘은 날씨가 맑고 ",
        "วันนี้อากาศดีมากเราจึงไป ",
        "it was a cold day ",
    ],
)
def test_lines_of_different_lengths_are_not_broken_at_a_width(path: Path, words: str):
    path.write_text("".join(f"{words * (1 + number % 5)}\n" for number in range(60)))
    list(sentence_lines(path, raw_text=True))
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
    path.with_suffix(".csv").write_text('text\n"We sat, there ."\nYou ran .\n')  # one column, with quotes
    assert list(sentence_lines(path.with_suffix(".csv"), column="text")) == ["We sat, there .", "You ran ."]


def test_a_column_that_is_not_there_is_refused(path: Path, snapshot: SnapshotAssertion):
    t, form, text, raw_text = {"column": "t"}, {"column": "form"}, {"column": "text"}, {"raw_text": True}
    raw = t | raw_text
    cases = (
        *(('{"t": "x"}\n', text), ('[{"t": "x"}, {"t": "y"}]', t), ('\n[\n  {\n    "t": "x"\n  }\n]\n', t)),
        *(('{"t": ["a", "b\\u0000"]}\n', t), ('{"t": "a"}\n{"t": "\\u0000"}\n', raw), ('{"t": ["a"]}\n', raw)),
        *(('{"t": ["a b"]}\n', t), ('{"t": 1}\n', t), ("id\tx\n1\ty z\n", text), ("We sat .\n", text)),
        *((CONLLU, {"column": "word"}), (CONLLU + "\n" + CONLLU + "4\tx\n", form), (CONLLU, form | raw_text)),
        *((WIDE, form), (CONLLU.replace("X", ""), form), (conllu("1 The", "# note", "2 cat"), form)),
        *((conllu("1 The", "2 cat", "3. sat"), form), (conllu("1 A", "- cat"), form), (conllu("1 A", "٢ cat"), form)),
        *((conllu("1 The", "2 cat", "1 A", "2 dog"), form), (conllu("# a = b", "1 _", "2 _", "", "1 _"), form)),
    )

    def read(case: tuple[str, dict[str, Any]]) -> None:
        path.write_text(case[0])
        list(sentence_lines(path, **case[1]))

    assert refusals(read, cases, folder=path.parent) == snapshot


OF_TOOLS = (
    *("The bank ra@@ ised its ra@@ tes .", "The bank ra ##ised its ra ##tes .", "\u2581The \u2581bank \u2581ra ised ."),
    *("The \u0120bank \u0120rose \u0120.", "The_DT bank_NN rose_VBD ._.", "the/at bank/nn rose/vbd ./."),
    "(S (NP (DT The) (NN bank)) (VP (VBD rose)) (. .))",
    *("101 1996 2924 102", f"the {'0.418 -0.25 1e-05 ' * 9}"),
    "S This are it .\nA 1 2|||R:VERB|||is|||REQUIRED|||-NONE-|||0",
    *("the Black @-@ and @-@ white army", "\\section{On banks} we sat on it .", '"We sat ."', "['We', 'sat', '.']"),
    *("__label__pos The film was good .", "it &apos;s a film", "A film.<br /><br />Good, too"),
    *("GrÃ¶ÃŸe is here", "itâ€™s here now", "Î· Î³Î¬Ï„Î± is here", "고양이 is here".encode().decode("latin-1")),
    *("le c\x9cur bat", "Gr\ufffde is here", "du\u00a0roi est là", "avec\u200bla main ici"),
    *("He left . Mary cried .", "He left . Mary cried . " * 100),
    *("The\nbank,\n“raised”\nits\nrates.", "눈이\n왔다\n."),
    *(f"NUMBER{mark} The bank rose ." for mark in ("", ".", ")", " :")),
)


def test_what_other_tools_write_is_warned_of(path: Path, snapshot: SnapshotAssertion):
    said: list[str] = []
    for line in OF_TOOLS:
        path.write_text("".join(f"{line.replace('NUMBER', str(number))}\n" for number in range(9)))
        with pytest.warns(UserWarning) as warned:
            list(sentence_lines(path))
        said += [str(warning.message).replace(str(path.parent), "FOLDER") for warning in warned]
    assert len(said) == len(OF_TOOLS) and said == snapshot
