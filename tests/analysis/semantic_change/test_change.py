import json
import unicodedata
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit import Elmo
from elmokit.analysis.polysemes import LISTS, Language, read_polysemes
from elmokit.analysis.semantic_change import change
from elmokit.analysis.semantic_change.change import (
    ChangeSettings,
    MovedContext,
    SemanticChange,
    UsesInCorpus,
    WordChange,
    moved_by,
    semantic_change,
    use_vectors,
)
from elmokit.analysis.semantic_change.distances import Distance, Distances
from elmokit.cli.analysis import NUM_SHOWN, change_json, change_rows, change_text
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import TINY, random_bilm

FEW = ChangeSettings(resamples=99)


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    sizes = replace(TINY, filters=((1, 32), (3, 32)), lstm_dim=64, projection_dim=64)  # same bits in any batch
    return Elmo(random_bilm(sizes), device="cpu")


def write_corpora(folder: Path, changed: tuple[str, ...], unchanged: tuple[str, ...], language: Language = "en"):
    """`a.txt` has one sense of the changed words, `b.txt` the other; each has half the uses of the unchanged words."""
    sides: tuple[list[str], list[str]] = ([], [])
    for word in (*changed, *unchanged):
        uses = [occurrence for occurrence in read_polysemes(LISTS[language]) if occurrence.word == word]
        first_sense = uses[0].sense
        for number, use in enumerate(uses):
            side = number % 2 if word in unchanged else int(use.sense != first_sense)
            sides[side].append(" ".join(use.tokens))
    for name, lines in zip(("a.txt", "b.txt"), sides, strict=True):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def compare(elmo: Elmo, folder: Path, words: list[str] | None, settings: ChangeSettings = FEW) -> SemanticChange:
    return semantic_change(elmo, folder / "a.txt", folder / "b.txt", words, settings)


def test_contexts_name_their_line_and_each_layer_is_measured_of_which_0_knows_no_context(tmp_path: Path, elmo: Elmo):
    write_corpora(tmp_path, ("watch",), ())
    found = compare(elmo, tmp_path, ["watch"], ChangeSettings(layers="all", num_contexts=2, resamples=9)).changes
    assert [one.layer for one in found] == ["0", "1", "2"]
    assert found[0].distances.prt.estimate == pytest.approx(0, abs=1e-6)
    (one,) = compare(elmo, tmp_path, ["watch"], ChangeSettings(num_contexts=2, resamples=9)).changes
    assert found[2].distances.prt.estimate == pytest.approx(one.distances.prt.estimate, abs=1e-6)
    assert (one.first.total, one.first.compared, len(one.first.moved_most)) == (8, 8, 2)
    most, next_most = one.second.moved_most
    assert most.moved >= next_most.moved
    assert most.tokens[most.index] == "watch"
    assert list(most.tokens) == most.path.read_text().splitlines()[most.line - 1].split()


def test_repeating_and_groups_of_words_change_nothing(tmp_path: Path, elmo: Elmo, monkeypatch: pytest.MonkeyPatch):
    write_corpora(tmp_path, ("watch", "book"), ("bank",))
    words = ["watch", "book", "bank"]
    settings = ChangeSettings(max_uses=5, resamples=20)
    together = compare(elmo, tmp_path, words, settings)
    assert together == compare(elmo, tmp_path, words, settings)
    monkeypatch.setattr(change, "VECTOR_BYTES", 1)
    assert compare(elmo, tmp_path, words, settings) == together
    sizes: list[int] = []
    encode = elmo.encode
    monkeypatch.setattr(elmo, "encode", lambda block, **how: sizes.append(len(block)) or encode(block, **how))
    monkeypatch.setattr(change, "TOKENS_AT_ONCE", 1)
    assert compare(elmo, tmp_path, words, settings) == together and set(sizes) == {1}
    assert all(one.first.compared == 5 < one.first.total for one in together.changes)


def test_without_words_frequent_ones_are_compared_each_once_if_case_is_ignored(tmp_path: Path, elmo: Elmo):
    write_corpora(tmp_path, ("watch",), ("bank",))
    for file in sorted(tmp_path.glob("*.txt")):
        lines = file.read_text().splitlines()
        file.write_text("".join(f"{line.title() if number % 2 else line}\n" for number, line in enumerate(lines)))
    found = compare(elmo, tmp_path, None, ChangeSettings(max_words=5, resamples=9, ignore_case=True))
    words = [one.word for one in found.changes]
    assert "bank" in words and words == [word.lower() for word in words] and not found.too_rare


def test_repeated_sentences_change_nothing_and_forms_are_counted_and_rare_words_named(tmp_path: Path, elmo: Elmo):
    write_corpora(tmp_path, ("watch",), ("bank",))
    words = ["watch, watch bank", "zebra"]
    once = compare(elmo, tmp_path, words)
    first = once.changes[0].first
    assert first.of_forms == {"watch,": 0, "watch": 8, "bank": first.total - 8}
    assert once.too_rare == {"zebra": (0, 0)}
    with pytest.raises(ValueError, match="none of the 1 words, .* at least 5 times in both corpora.* lower min_uses"):
        compare(elmo, tmp_path, ["zebra"])
    for file in sorted(tmp_path.glob("*.txt")):
        file.write_text(file.read_text() * 8 + "one rare zebra\n" * 8)
    found = compare(elmo, tmp_path, words)
    assert found.changes[0].distances == once.changes[0].distances and found.too_rare == {"zebra": (1, 1)}
    assert found.changes[0].first.total == 8 * first.total == 8 * found.changes[0].first.compared


def test_forms_may_be_regular_expressions_for_whole_tokens(tmp_path: Path, elmo: Elmo):
    write_corpora(tmp_path, ("watch",), ("bank",))
    by_pattern = compare(elmo, tmp_path, ["watch(es)? b[ae]nk"], ChangeSettings(patterns=True))
    by_forms = compare(elmo, tmp_path, ["watch watches bank"])
    (one,), (other,) = by_pattern.changes, by_forms.changes
    assert one.first.total == other.first.total and one.first.of_forms["b[ae]nk"] == other.first.of_forms["bank"]
    with pytest.raises(ValueError, match=r"line 1 of the words: '\(' is not a regular expression"):
        compare(elmo, tmp_path, ["("], ChangeSettings(patterns=True))


def test_the_vectors_of_all_uses_are_an_array_for_each_word(tmp_path: Path, elmo: Elmo):
    (tmp_path / "a.txt").write_text("the watch stopped\nno\na watch and watches\n")
    vectors = use_vectors(elmo, tmp_path / "a.txt", ["watch watches", "zebra"])
    first, third = elmo.encode([["the", "watch", "stopped"], ["a", "watch", "and", "watches"]])
    np.testing.assert_allclose(vectors["watch"], [first[1], third[1], third[3]], atol=1e-6)
    assert vectors["zebra"].shape == (0, elmo.dim)
    layers = use_vectors(elmo, tmp_path / "a.txt", ["watch"], ChangeSettings(layers="all"))
    assert layers["watch"].shape == (3, 2, elmo.dim)


def test_text_and_words_in_nfd_are_read_as_nfc(tmp_path: Path):
    write_corpora(tmp_path, ("배를",), (), "ko")
    korean = Elmo(random_bilm(), Vocabulary(["<S>", "</S>", "<UNK>", "배를"]), device="cpu")
    expected = compare(korean, tmp_path, ["배를"]).changes[0]
    assert expected.first.moved_most[0].tokens[expected.first.moved_most[0].index] == "배를"
    for file in sorted(tmp_path.glob("*.txt")):
        file.write_text(unicodedata.normalize("NFD", file.read_text()))
    for word in ("배를", unicodedata.normalize("NFD", "배를")):
        assert compare(korean, tmp_path, [word]).changes[0] == expected


def test_a_model_of_decomposed_text_reads_decomposed_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_corpora(tmp_path, ("배를",), (), "ko")
    decomposed = unicodedata.normalize("NFD", "배를")
    korean = Elmo(random_bilm(), Vocabulary(["<S>", "</S>", "<UNK>", decomposed, "the"]), device="cpu")
    read: list[list[str]] = []
    encode = korean.encode
    monkeypatch.setattr(korean, "encode", lambda block, **how: read.extend(block) or encode(block, **how))
    compare(korean, tmp_path, ["배를"])
    (found,) = korean.nearest("배를 탔다", "배를", ["그는 배를 샀다"], among="same")
    assert found.token == "배를" and decomposed in read[-1]
    assert all(unicodedata.is_normalized("NFD", " ".join(tokens)) for tokens in read)


def test_settings_that_make_no_sense_are_refused(tmp_path: Path, elmo: Elmo):
    for wrong in (1, 2.5, "3"):
        with pytest.raises(ValueError, match=f"max_uses is {wrong!r}; expected a whole number, at least 2"):
            ChangeSettings(max_uses=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="layers is 3; this model has layers 0"):
        compare(elmo, tmp_path, ["watch"], ChangeSettings(layers=3))


def test_a_use_that_only_one_corpus_has_moved_most():
    east, north = np.array([1.0, 0.0]), np.array([0.0, 2.0])
    moved = moved_by(np.stack([east, east, north]), np.stack([north, north]))
    assert moved == pytest.approx([1 - 0.5, 1 - 0.5, 0 - 1])
    assert moved_by(east[None], north[None]) == pytest.approx([1.0])  # a single use has no others


CONTEXT = MovedContext(Path("old.txt"), 3, 10, tuple(f"t{number}" for number in range(20)), 0.5)


def result_of(*words: str, q: float = 0.004) -> SemanticChange:
    uses = UsesInCorpus(1200, {"plane": 1200, "planes": 0, "plane,": 0}, 200, (CONTEXT,))
    distances = Distances(*(replace(Distance(0.25, 0.1, 0.4, 0.01, 0.002, 0.004), q=q) for _ in range(3)))
    others = UsesInCorpus(7, {"plane": 4, "planes": 3, "plane,": 0}, 7, ())
    changes = tuple(WordChange(word, "top", distances, uses, others) for word in words)
    return SemanticChange("toy", changes, {"zebra": (0, 3)})


def test_the_text_shows_the_first_words_contexts_and_what_was_left_out(snapshot: SnapshotAssertion):
    assert change_text(result_of("plane", "b\x1bad")) == snapshot
    text = change_text(result_of(*(f"word{number}" for number in range(NUM_SHOWN + 2))))
    assert "and 2 more words with a smaller excess" in text and "word21" not in text
    said = "no word differs by more than chance: none has a q of at most 0.05"
    assert said in change_text(result_of("plane", q=0.06)) and said not in change_text(result_of("plane", q=0.05))


def test_the_table_has_a_row_per_word_and_json_has_everything(snapshot: SnapshotAssertion):
    assert "\n".join(map(" ".join, zip(*change_rows(result_of("plane")), strict=True))) == snapshot
    result = result_of("눈이")
    assert json.loads(change_json(result)) == json.loads(json.dumps(asdict(result), default=str))
