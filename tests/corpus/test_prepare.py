"""Raw text becomes a corpus: everything is accounted for, and no held-out text is trained on."""

import hashlib
import json
import lzma
import os
import re
import sys
import tempfile
import textwrap
import time
import unicodedata
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from elmokit.cli.main import main
from elmokit.corpus import external_sort
from elmokit.corpus.manifest import held_out_file, is_corpus, training_files
from elmokit.corpus.prepare import Preparation, keep_spelling, morphemes, prepare
from elmokit.files.lines import read_lines
from elmokit.pretraining.before_training import check_files
from elmokit.text.sentence_lines import column_rows, read_raw_documents, read_sentences
from elmokit.text.tokenizer import tokenize
from run_contents import contents_of_run

EVERYTHING = Preparation(min_tokens=1, held_out=0.0)
NOT_UTF8 = os.fsdecode(b"caf\xe9")
STORY = "The cat sat on the mat. It did not move,\nnot even once.\n"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "raw.txt"
    path.write_text(STORY + "".join(f"\nThis is document number {number}.\nIt ends here.\n" for number in range(40)))
    return path


def train(folder: Path) -> list[str]:
    return [line for shard in sorted(folder.glob("train-*.txt.xz")) for line in read_lines(shard)]


def held_out(folder: Path) -> list[str]:
    return list(read_lines(folder / "heldout.txt.xz"))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_words_broken_at_line_ends_are_joined_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write(tmp_path / "raw", "He was so submi-\nssive to them.\n\nShe was not submissive, but un-\nbound.\n")
    command = ["prepare", str(path), "--held-out", "0"]
    assert main([*command, "-o", str(tmp_path / "joined"), "--join-hyphens"]) == 0
    assert re.search(r"joined +1 of 2 words broken at line ends\n", capsys.readouterr().out)
    lines = ["He was so submissive to them .", "She was not submissive , but un - bound ."]
    assert sorted(train(tmp_path / "joined")) == lines
    manifest = json.loads((tmp_path / "joined" / "manifest.json").read_text())
    assert (manifest["joined_words"], manifest["broken_words"]) == (1, 2)
    assert main([*command, "-o", str(tmp_path / "plain")]) == 0
    assert "He was so submi - ssive to them ." in train(tmp_path / "plain")
    assert "broken at line ends" not in capsys.readouterr().out


def test_broken_words_and_the_broken_lines_of_a_book_are_warned_of(tmp_path: Path):
    broken = "He was so submi-\nssive to them - and\nwell-\nknown (in 1990-\n1995).\n\n"
    (warning,) = prepare([write(tmp_path / "raw", broken * 3)], tmp_path / "plain", Preparation(held_out=0)).warnings()
    assert warning.startswith("6 words seem to be broken by a hyphen at a line end") and "--join-hyphens" in warning
    path = write(tmp_path / "raw", broken + "They came here again.\n\n" * 500)
    assert not prepare([path], tmp_path / "compounds", Preparation(held_out=0)).warnings()
    path = write(tmp_path / "raw", textwrap.fill("The cow saw an ant, and it sat down in the field. " * 40, 70))
    with pytest.warns(UserWarning, match=r"raw look wrapped at a fixed width, .* leave out --lines"):
        prepare([path], tmp_path / "lines", Preparation(held_out=0, lines=True))


@pytest.mark.parametrize("keep_duplicates", [False, True])
def test_held_out_text_is_whole_documents_and_nowhere_in_the_shards(tmp_path: Path, raw: Path, keep_duplicates: bool):
    how = replace(EVERYTHING, held_out=0.2, keep_duplicates=keep_duplicates)
    manifest = prepare([raw], tmp_path / "corpus", how)
    lines = held_out(tmp_path / "corpus")
    assert 2 < manifest.held_out_documents < 20
    assert "It ends here ." in lines
    assert not {*lines} & {*train(tmp_path / "corpus")}
    numbers = [int(line.split()[-2]) for line in lines if "number" in line]
    assert numbers == sorted(numbers)
    assert len(numbers) == manifest.held_out_documents - ("The cat sat on the mat ." in lines)
    assert lines.count("It ends here .") == (len(numbers) if keep_duplicates else 1)
    assert manifest.dropped["held out elsewhere"].sentences == 40 - len(numbers)


def test_documents_end_at_blank_lines_and_a_single_one_is_not_held_out(tmp_path: Path):
    path = write(tmp_path / "raw", STORY)
    with pytest.raises(ValueError, match=r"single document.*use --held-out 0 .*use --lines"):
        prepare([path], tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()
    with pytest.raises(ValueError, match="the texts in column 'text' are read one by one"):
        Preparation(column="text", join_hyphens=True)
    path = write(tmp_path / "raw", json.dumps({"text": "Title\n\none\ntwo"}) + "\n" + json.dumps({"text": " \n"}))
    assert [text for text, _ in column_rows(path, "text")] == ["Title\n\none\ntwo", " \n"]
    (source,) = prepare([path], tmp_path / "corpus", Preparation(column="text", held_out=0, min_tokens=1)).sources
    assert (source.documents, source.sentences) == (1, 2)  # a blank text does not count
    path = write(tmp_path / "raw", "\n \none\ntwo\n\t\n\nth\u00ad \n  ree\n\u3000\nfour")
    assert [*read_raw_documents(path)] == [(0, "one\ntwo"), (1, "three"), (2, "four")]
    path = write(tmp_path / "raw.jsonl", '{"text": "th\\u00ad\\r\\nree"}\n')
    assert [text for text, _ in column_rows(path, "text")] == ["three"]
    path = write(tmp_path / "raw", f"One{' ' * 100_000}line \n and more.")
    start = time.process_time()
    assert [*read_sentences(path)] == [f"One{' ' * 100_000}line and more."]
    assert time.process_time() - start < 10  # a quadratic expression needs minutes


def test_the_seed_makes_the_order_and_memory_does_not(tmp_path: Path, raw: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(external_sort, "RUNS_AT_ONCE", 4)
    prepare([raw], tmp_path / "one")
    prepare([raw], tmp_path / "two", memory_bytes=300)
    assert contents_of_run(tmp_path / "one") == contents_of_run(tmp_path / "two")
    prepare([raw], tmp_path / "other", Preparation(seed=1))
    assert train(tmp_path / "other") != train(tmp_path / "one")
    assert held_out(tmp_path / "other") != held_out(tmp_path / "one")
    lines = train(tmp_path / "one")
    assert lines != sorted(lines, key=lambda line: int(line.split()[-2]) if "number" in line else -1)


def test_what_is_dropped_is_said_with_the_reason(tmp_path: Path):
    path = write(tmp_path / "raw", "Yes.\n\nThis one may stay here.\n\nЭто предложение по-русски .\n\n" + "far " * 99)
    manifest = prepare([path], tmp_path / "corpus", Preparation(language="en", held_out=0, max_tokens=98))
    found = {reason: (amount.sentences, amount.tokens) for reason, amount in manifest.dropped.items()}
    assert found.pop("duplicates") == found.pop("held out elsewhere") == (0, 0)
    assert found == {"too short": (1, 2), "too long": (1, 99), "in another script": (1, 4)}
    assert train(tmp_path / "corpus") == ["This one may stay here ."]
    prepare([path], tmp_path / "six", Preparation(held_out=0, min_tokens=6, max_tokens=6))
    assert train(tmp_path / "six") == ["This one may stay here ."]


def test_characters_become_nfc_unless_they_are_to_stay_and_korean_may_be_archaic(tmp_path: Path):
    spelt = unicodedata.normalize("NFD", "나는 밥을 먹었다.") + " Caf\u00e9 or cafe\u0301 for all?\n"
    path = write(tmp_path / "raw", spelt)
    prepare([path], tmp_path / "nfc", EVERYTHING)
    prepare([path], tmp_path / "as_it_is", replace(EVERYTHING, nfc=False))
    assert sorted(train(tmp_path / "nfc")) == ["Café or café for all ?", "나는 밥을 먹었다 ."]
    expected = ["Caf\u00e9 or cafe\u0301 for all ?", unicodedata.normalize("NFD", "나는 밥을 먹었다 .")]
    assert sorted(train(tmp_path / "as_it_is")) == sorted(expected)
    archaic = "ᄒᆞᄂᆞᆯ ᄯᅡ ᄉᆞᄅᆞᆷ ꥠힰ ."
    laughing = "그냥 빵 터졌다 ㅋㅋㅋ ㅠㅠㅠ"
    text = f"{archaic}\n\n{laughing}\n"
    prepare([write(path, text)], tmp_path / "ko", Preparation(language="ko", held_out=0))
    assert set(train(tmp_path / "ko")) == {archaic, laughing}


@given(st.text(st.sampled_from("aeE \u00e9\u0301\u0323가각\u1100\u1161\u11a8\u212b'.-—\u0915\u093c\u0958")))
@example(".\u0301\u0323")  # NFC has these marks in the other order
def test_keeping_the_spelling_changes_the_spelling_alone(text: str):
    assume(not re.search(r"(.)\1{3}", unicodedata.normalize("NFC", text)))  # `tokenize` keeps only three of these
    kept = keep_spelling(text)
    assert [unicodedata.normalize("NFC", token) for token in kept] == tokenize(text)
    letters = [character for character in "".join(kept) if unicodedata.category(character) in ("Lu", "Ll", "Lo", "Mn")]
    assert letters == [c for c in text if unicodedata.category(c) in ("Lu", "Ll", "Lo", "Mn")]


def test_morphemes_are_those_of_kiwi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def analyse(_: object, text: str) -> list[SimpleNamespace]:
        forms = text.replace("먹었다", "먹 었 다").replace("밥을", "밥 을").replace(".", " .").split()
        return [SimpleNamespace(form=form) for form in forms]

    fake = ModuleType("kiwipiepy")
    fake.__dict__["Kiwi"] = type("Kiwi", (), {"tokenize": analyse})
    monkeypatch.setitem(sys.modules, "kiwipiepy", fake)
    path = write(tmp_path / "raw", unicodedata.normalize("NFD", "나는\n밥을 먹었다.\n"))
    prepare([path], tmp_path / "corpus", Preparation(language="ko", unit="morphemes", held_out=0))
    assert train(tmp_path / "corpus") == ["나는 밥 을 먹 었 다 ."]
    assert morphemes()("밥을\x07먹\u00ad었다.") == ["밥", "을", "먹", "었", "다", "."]


def test_shards_have_a_bounded_size_and_the_manifest_names_every_file_with_its_hash(tmp_path: Path, raw: Path):
    prepare([raw], tmp_path / "one", Preparation(held_out=0.1))
    prepare([raw], tmp_path / "corpus", Preparation(held_out=0.1, shard_megabytes=100e-6))
    assert train(tmp_path / "corpus") == train(tmp_path / "one")
    manifest = json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    assert len(manifest["shards"]) > 5
    for file in [*manifest["shards"], manifest["held_out"]]:
        path = tmp_path / "corpus" / file["name"]
        lines = list(read_lines(path))
        assert file == manifest["held_out"] or len(lzma.decompress(path.read_bytes())) <= 100
        assert (file["bytes"], file["sha256"]) == (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        assert (file["sentences"], file["tokens"]) == (len(lines), sum(len(line.split(" ")) for line in lines))
    (source,) = manifest["sources"]
    assert (source["path"], source["documents"]) == (str(raw), 41)
    assert source["sha256"] == hashlib.sha256(raw.read_bytes()).hexdigest()
    assert manifest["options"]["held_out"] == 0.1
    tiny = prepare([raw], tmp_path / "tiny", replace(EVERYTHING, shard_megabytes=1e-6))
    assert {shard.sentences for shard in tiny.shards} == {1}


SENTENCE = st.sampled_from(
    [f"{subject} {verb} here." for subject in ("I", "You", "Some cats") for verb in ("sit", "go")]
)
DOCUMENTS = st.lists(st.lists(SENTENCE, min_size=1, max_size=4), min_size=2, max_size=12)


@settings(max_examples=20)
@given(DOCUMENTS, st.booleans(), st.sampled_from([0.0, 0.3]), st.integers(0, 9), st.sampled_from([1, 10**6]))
def test_every_sentence_is_accounted_for(
    texts: list[list[str]], keep_duplicates: bool, share: float, seed: int, memory_bytes: int
):
    with tempfile.TemporaryDirectory() as parent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_sort, "RUNS_AT_ONCE", 3)
        raw = write(Path(parent) / "raw", "\n\n".join("\n".join(document) for document in texts))
        folder = Path(parent) / "corpus"
        how = Preparation(held_out=share, seed=seed, keep_duplicates=keep_duplicates)
        try:
            manifest = prepare([raw], folder, how, memory_bytes=memory_bytes)
        except ValueError as error:
            assert share and "no sentence is left to train on" in str(error)
            assert os.listdir(parent) == ["raw"]
            return
        out = held_out(folder) if manifest.held_out else []
        kept = Counter(train(folder)) + Counter(out)
        whole = Counter(" ".join(tokenize(sentence)) for document in texts for sentence in document)
        dropped = Counter(" ".join(tokenize(s)) for d in texts for s in d if len(tokenize(s)) < how.min_tokens)
        assert kept.keys() == whole.keys() - dropped.keys()
        assert not {*out} & {*train(folder)}
        if not keep_duplicates:
            assert set(kept.values()) == {1}
        elif not share:
            assert kept == whole - dropped
        amounts = [manifest.train, *manifest.dropped.values(), *([manifest.held_out] if manifest.held_out else [])]
        assert sum(amount.sentences for amount in amounts) == manifest.sources[0].sentences == whole.total()
        assert sum(amount.tokens for amount in amounts) == manifest.sources[0].tokens


def test_the_command_says_what_it_did(tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "corpus"
    arguments = ["--held-out", "10%", "--min-tokens", "2", "--language", "en", "--keep-duplicates", "--no-nfc"]
    assert main(["prepare", str(raw), "-o", str(folder), "--seed", "3", "--shard-megabytes", "1", *arguments]) == 0
    shown, warned = capsys.readouterr()
    assert "vary by chance" in warned and "the corpus keeps decomposed characters (--no-nfc" in warned
    for fact in ("82 sentences", "in 41 documents", "training ", "in 1 shard\n", "held out ", f"{folder}\n"):
        assert fact in shown
    options = json.loads((folder / "manifest.json").read_text())["options"]
    given = {"language": "en", "nfc": False, "min_tokens": 2, "keep_duplicates": True, "held_out": 0.1, "seed": 3}
    assert options == json.loads(json.dumps(asdict(Preparation(**given, shard_megabytes=1.0))))


def test_the_shares_that_were_dropped_and_held_out_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    books = [
        write(tmp_path / f"{n}.txt", "".join(f"We sat here on day {n} {m}.\n" for m in range(9))) for n in range(4)
    ]
    verse = write(tmp_path / "verse.txt", "we sat ; " * 40)
    command = ["prepare", *map(str, books), "--held-out", "1%", "-o"]
    assert main([*command, str(tmp_path / "few")]) == 0
    shown, warned = capsys.readouterr()
    assert re.search("of 1 document, 25.0% of the tokens instead of 1.0%: whole documents are drawn at random", shown)
    assert "too long" not in shown and "are dropped" not in warned
    assert main([*command, str(tmp_path / "near"), "--held-out", "20%"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].endswith(" of 1 document, 25.0% of the tokens")
    command.insert(1, str(verse))
    assert main([*command, str(tmp_path / "long")]) == 0
    shown, warned = capsys.readouterr()
    line = r"too long +1 sentences +120 tokens, 29\.4% \(more than 100 tokens; --max-tokens N raises the limit\)\n"
    assert re.search(line, shown)
    assert (
        "29% of the tokens are dropped, because their sentences have more than 100 tokens: keep them with --max-tokens"
        in warned
    )
    assert main([*command, str(tmp_path / "all"), "--max-tokens", "1000"]) == 0
    shown, warned = capsys.readouterr()
    assert "too long" not in shown and "are dropped" not in warned


def test_bad_input_is_one_line_and_leaves_nothing(tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "bad").write_bytes(b"Good text is here.\n\n\xff\n")
    (tmp_path / "empty").write_bytes(b"\n \n\n")
    (tmp_path / "short").write_bytes(b"Yes.\n\nNo.\n")
    (tmp_path / "long").write_text("far " * 101)
    os.link(raw, tmp_path / NOT_UTF8)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(tmp_path))
    for name, arguments, message in (
        ("bad", [], "bad, line 3: byte 0xff at byte 1 is not UTF-8"),
        ("empty", [], "empty: the raw text has no sentences"),
        ("short", [], "no sentence is left to train on; dropped: 2 too short"),
        ("long", ["--held-out", "0"], "1 too long; 0 of 0 documents are held out; end sentences by blank lines"),
        (NOT_UTF8, [], r"caf\udce9: its name is not UTF-8; rename"),
        ("raw.txt", ["--exclude", str(tmp_path / NOT_UTF8)], r"caf\udce9: its name is not UTF-8; rename"),
        ("there", [], "there is a folder; expected a text file (several, where a command takes them: "),
        ("pipe", [], "pipe is a pipe or standard input, but it is read twice; write it to a file first"),
        ("raw.txt", ["--exclude", str(tmp_path / "pipe")], "pipe is a pipe or standard input, but it is read twice"),
        ("raw.txt", ["-o", str(tmp_path / "there")], "exists and is not an empty folder"),
        ("raw.txt", ["--held-out", "5"], "the held-out share is 5; expected at least 0 and less than 1"),
        ("raw.txt", ["--min-tokens", "9", "--max-tokens", "8"], "min_tokens is 9 and max_tokens 8"),
        ("raw.txt", ["--shard-megabytes", "0"], "shard_megabytes is 0"),
        ("raw.txt", ["--unit", "morphemes"], "use --language ko"),
        ("raw.txt", ["--unit", "morphemes", "--language", "ko", "--no-nfc"], "without --no-nfc"),
    ):
        assert main(["prepare", str(tmp_path / name), "-o", str(tmp_path / "corpus"), *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("elmokit: error: ") and error.count("\n") == 1 and message in error
    assert sorted(os.listdir(tmp_path)) == before
    with pytest.raises(ValueError, match="no raw text was given"):
        prepare([], tmp_path / "corpus")


def test_a_folder_that_prepare_wrote_stands_for_its_files(
    tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "corpus"
    manifest = prepare([raw], folder, Preparation(held_out=0.1, shard_megabytes=100e-6))
    assert training_files(folder) == [folder / shard.name for shard in manifest.shards]
    assert held_out_file(folder) == folder / "heldout.txt.xz"
    assert training_files(raw) == [raw] and held_out_file(raw) == raw and not is_corpus(raw.parent)
    assert main(["vocabulary", str(folder), "-o", str(tmp_path / "v.txt")]) == 0
    assert f"{manifest.train.sentences:,} sentences" in capsys.readouterr().out
    with pytest.warns(UserWarning, match=r"heldout\.txt\.xz is the held-out text of .*corpus; give the folder"):
        check_files([*training_files(folder), held_out_file(folder)], [])
    training_files(folder)[3].unlink()
    with pytest.raises(FileNotFoundError, match=r"train-00003\.txt\.xz is missing, but manifest\.json lists it; copy"):
        training_files(folder)
    (folder / "heldout.txt.xz").unlink()
    with pytest.raises(FileNotFoundError, match=r"heldout\.txt\.xz is missing"):
        held_out_file(folder)
    outside = '{"name": "../raw.txt", "sentences": 1, "tokens": 1, "bytes": 1, "sha256": ""}'
    for manifest_text in ("[]", "{}", '{"shards": [{"name": "x"}]}', f'{{"shards": [{outside}]}}'):
        (folder / "manifest.json").write_text(manifest_text)
        with pytest.raises(ValueError, match=r"manifest\.json: "):
            training_files(folder)
    prepare([raw], tmp_path / "all", EVERYTHING)
    with pytest.raises(ValueError, match="all has no held-out text"):
        held_out_file(tmp_path / "all")


def test_tokens_of_a_column_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words = ["We", "don't", "know", "ice cream", ".", "He", "sat", "—", "cafe\u0301", "."]
    rows = [f"{number}\t{word}" + "\t_" * 8 for number, word in enumerate(words, start=1)]
    treebank = write(tmp_path / "t.conllu", "\n".join(rows) + "\n\n")
    line = "We don't know ice\u00a0cream . He sat — café ."
    prepare([treebank], tmp_path / "treebank", replace(EVERYTHING, column="form"))
    assert train(tmp_path / "treebank") == [line]
    prepare([treebank], tmp_path / "as_it_is", replace(EVERYTHING, column="form", nfc=False))
    assert train(tmp_path / "as_it_is") == [unicodedata.normalize("NFD", line)]
    lists = write(tmp_path / "t.jsonl", '{"t": ["We", "don\'t", "sat."]}\n{"t": []}\n{"t": "We don\'t."}\n')
    manifest = prepare([lists], tmp_path / "lists", replace(EVERYTHING, column="t"))
    assert sorted(train(tmp_path / "lists")) == ["We do n't .", "We don't sat."]
    assert manifest.sources[0].documents == 2
    monkeypatch.setattr("elmokit.corpus.prepare.morphemes", lambda: tokenize)
    with pytest.raises(ValueError, match="a column of tokens is not split into morphemes"):
        prepare([treebank], tmp_path / "ko", Preparation(language="ko", unit="morphemes", column="form"))


def test_lines_and_files_may_be_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    reviews = write(tmp_path / "reviews", "".join(f"good film number {n}\nso bad it is {n}\n" for n in range(20)))
    command = ["prepare", str(reviews), "-o", str(tmp_path / "lines"), "--held-out", "20%"]
    assert main(command) == 2
    assert "if each line is a text, use --lines (lines=True)" in capsys.readouterr().err
    assert main([*command, "--lines"]) == 0
    assert "in 40 documents (one per line) in 1 file\n" in capsys.readouterr().out
    assert "good film number 3" in train(tmp_path / "lines") + held_out(tmp_path / "lines")
    books = [write(tmp_path / f"book{n}", f"This is book {n}.\n\nIt has two paragraphs, {n}.\n") for n in range(12)]
    command = ["prepare", *map(str, books), "-o", str(tmp_path / "books"), "--held-out", "30%"]
    assert main([*command, "--document-per-file"]) == 0
    shown = capsys.readouterr().out
    assert " in 12 files\n" in shown and "documents (" not in shown
    numbers = [re.findall(r"\d+", line)[0] for line in held_out(tmp_path / "books")]
    assert {numbers.count(number) for number in numbers} == {2}
    assert main([*command[:-3], str(tmp_path / "paragraphs")]) == 0
    assert "in 24 documents (blank lines end them) in 12 files\n" in capsys.readouterr().out
    for how in ({"lines": True, "column": "x"}, {"lines": True, "join_hyphens": True}):
        with pytest.raises(ValueError, match="lines"):
            Preparation(**how)


def test_a_long_document_is_not_cut_within_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("elmokit.text.sentence_lines.PIECE_CHARACTERS", 500)
    text = "".join(f"The old man {n} walked slo\u00ad\nwly down the long\nroad to the sea. " for n in range(100))
    path = write(tmp_path / "raw", text)
    expected = [f"The old man {n} walked slowly down the long road to the sea." for n in range(100)]
    assert list(read_sentences(path)) == expected
    assert {number for number, _ in read_raw_documents(path)} == {0}
    path = write(tmp_path / "raw", "no end\n" * 300)
    assert " ".join(read_sentences(path)) == " ".join(["no end"] * 300)


def test_a_home_folder_is_expanded_in_excluded_files(tmp_path: Path, raw: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "eval.txt", "It ends here, and this is text enough.")
    how = replace(EVERYTHING, exclude=("~/eval.txt",), exclude_words=3)
    assert prepare(["~/raw.txt"], tmp_path / "corpus", how).dropped["in excluded texts"].sentences == 40
