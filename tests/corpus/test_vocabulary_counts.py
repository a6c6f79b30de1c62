"""The vocabulary of a corpus: exact counts, most frequent tokens first."""

import gzip
import os
from pathlib import Path

import pytest

from elmokit.cli.main import main
from elmokit.corpus.prepare import Preparation, prepare
from elmokit.corpus.vocabulary_counts import write_vocabulary
from elmokit.text.vocabulary import Vocabulary

SPECIALS = ["<S>", "</S>", "<UNK>"]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "shard.txt"
    path.write_text("the cat saw the dog\n\nthe cat\tsat\nzebra ,\n")
    return path


def test_specials_come_first_are_no_types_and_then_falling_counts_and_code_points(shard: Path, tmp_path: Path):
    (packed := tmp_path / "packed").write_bytes(gzip.compress("the 밥 \U0001f600\n".encode()))
    summary = write_vocabulary([packed, shard], tmp_path / "vocabulary.txt")
    expected = [*SPECIALS, "the", "cat", ",", "dog", "sat", "saw", "zebra", "밥", "\U0001f600"]
    assert Vocabulary.read(tmp_path / "vocabulary.txt").tokens == expected
    assert (summary.num_sentences, summary.num_tokens, summary.num_types, summary.num_kept) == (4, 13, 9, 9)
    assert summary.coverage == 1
    (tmp_path / "shard").write_text("<S> a <UNK> </S>\n")
    summary = write_vocabulary([tmp_path / "shard"], tmp_path / "vocabulary.txt")
    assert Vocabulary.read(tmp_path / "vocabulary.txt").tokens == [*SPECIALS, "a"]
    assert (summary.num_tokens, summary.num_types, summary.num_known_tokens) == (4, 1, 3)


def test_rare_tokens_and_those_beyond_the_size_are_left_out(shard: Path, tmp_path: Path):
    path = tmp_path / "vocabulary.txt"
    summary = write_vocabulary([shard], path, min_count=2)
    assert Vocabulary.read(path).tokens == [*SPECIALS, "the", "cat"]
    assert (summary.num_known_tokens, summary.rarest_count, summary.coverage) == (5, 2, 0.5)
    write_vocabulary([shard], path, max_size=4)
    assert Vocabulary.read(path).tokens == [*SPECIALS, "the"]
    with pytest.raises(ValueError, match=r"no token occurs 4 times; expected a lower minimum count \(--min-count\)"):
        write_vocabulary([shard], path, min_count=4)


def test_the_command_says_what_the_vocabulary_covers_and_bad_input_leaves_nothing(
    shard: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "vocabulary.txt"
    assert main(["vocabulary", str(shard), "-o", str(path), "--min-count", "2"]) == 0
    shown = capsys.readouterr().out
    for fact in ("3 sentences, 10 tokens, 7 types", "kept 2 types", "50.00% of the tokens; OOV rate 50.00%", str(path)):
        assert fact in shown
    assert "cut because they are longer than 48 bytes: 0 tokens (0.0000%)" in shown
    (tmp_path / "empty").write_bytes(b"\n \n")
    before = sorted(os.listdir(tmp_path))
    for name, arguments, message in (
        ("empty", [], "there is no sentence in"),
        ("shard.txt", ["--min-count", "0"], "the minimum count is 0; expected at least 1"),
        ("shard.txt", ["--max-size", "3"], "the maximum size is 3; expected more than the 3 specials"),
        ("shard.txt", ["-o", str(tmp_path / "no" / "vocabulary.txt")], "create it first"),
    ):
        assert main(["vocabulary", str(tmp_path / name), "-o", str(tmp_path / "new.txt"), *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("elmokit: error: ") and error.count("\n") == 1 and message in error
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("name", ["manifest.json", "heldout.txt.xz"])
def test_the_files_of_a_corpus_are_not_overwritten(shard: Path, tmp_path: Path, name: str):
    shard.write_text("".join(f"the cat saw dog {number} .\n\n" for number in range(20)))
    prepare([shard], tmp_path / "corpus", Preparation(held_out=0.1))
    before = (tmp_path / "corpus" / name).read_bytes()
    with pytest.raises(ValueError, match=f"{name} would be replaced by the output"):
        write_vocabulary([tmp_path / "corpus"], tmp_path / "corpus" / name)
    assert (tmp_path / "corpus" / name).read_bytes() == before
