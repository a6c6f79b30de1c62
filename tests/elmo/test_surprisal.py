"""Compares surprisal with its definition, prediction by prediction, and its sums with `perplexity`."""

import copy
import math
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from elmokit.elmo import surprisal as module
from elmokit.elmo.elmo import Elmo
from elmokit.elmo.surprisal import SurprisalModel
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.full_softmax import SoftmaxDetails
from elmokit.layers.packed.lstm import PackedLSTM
from elmokit.layers.sampled_softmax import Softmax
from elmokit.scoring import perplexity as perplexity_module
from elmokit.scoring.perplexity import perplexity
from refusals import refusals, refused_options
from toy_bilm import TINY, VOCABULARY, losses_by_definition, random_bilm, toy_elmo, toy_parts, write_toy

ONE_DIRECTION = toy_elmo(replace(TINY, bidirectional=False))
SENTENCES = [["a", "b", "c", "a"], ["z"], ["a", "b"], ["c", "c"], ["b", "z", "a", "c", "b", "b"], ["a"], ["a", "b"]]


def test_equals_the_definition_in_both_directions() -> None:
    found = toy_elmo().surprisal(SENTENCES)
    for backward in (False, True):
        for result, predictions in zip(found, losses_by_definition(SENTENCES, backward=backward), strict=True):
            bits = result.directions["backward" if backward else "forward"].bits
            np.testing.assert_allclose(bits, [loss / math.log(2) for _, loss in predictions], rtol=1e-5)
    for sentence, result in zip(SENTENCES, found, strict=True):
        assert result.forward is not None and result.backward is not None and result.tokens == sentence
        assert result.known.tolist() == [token != "z" for token in sentence]
        np.testing.assert_array_equal(result.bits(), result.forward.bits[:-1])
        np.testing.assert_array_equal(result.bits("backward"), result.backward.bits[1:])


def test_carried_state_reads_a_story_as_perplexity_reads_one_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perplexity_module, "CARRIED_ROWS", 1)
    monkeypatch.setattr(module, "SENTENCES_AT_ONCE", 2)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(map(" ".join, SENTENCES)) + "\n")
    measured = perplexity(write_toy(tmp_path / "toy"), [text], carry_state=True, device="cpu")
    found = toy_elmo().surprisal(SENTENCES, carry_state=True)
    assert measured.backward is not None
    for direction, side in (("forward", measured.forward), ("backward", measured.backward)):
        bits = -sum(result.log2_probability(direction) for result in found) / measured.num_predictions
        assert 2**bits == pytest.approx(side.perplexity, rel=1e-5)


@pytest.mark.parametrize("directions", [("forward",), ("backward",), ("forward", "backward")])
def test_carried_state_runs_only_the_lstms_that_were_asked_for(directions: tuple[str, ...], monkeypatch: Any) -> None:
    elmo = toy_elmo()
    elmo.surprisal(["a"])  # makes the softmax and the packed weights
    ran: list[PackedLSTM] = []
    read = PackedLSTM.__call__
    monkeypatch.setattr(PackedLSTM, "__call__", lambda lstm, *given: ran.append(lstm) or read(lstm, *given))
    elmo.surprisal(SENTENCES, direction=directions[0] if len(directions) == 1 else "both", carry_state=True)
    assert len(ran) == len(directions) * len(SENTENCES)


@pytest.mark.filterwarnings("ignore:.* are special tokens of a language model")
def test_a_literal_unknown_token_is_unknown() -> None:
    found, other = toy_elmo().surprisal([["a", "<UNK>"], ["a", "z"]])
    assert found.known.tolist() == other.known.tolist() == [True, False]
    np.testing.assert_array_equal(found.bits(), other.bits())


def test_an_empty_sentence_starts_a_new_story_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    elmo = toy_elmo()
    first, second, _, again = elmo.surprisal([["a", "b"], ["a", "b"], [], ["a", "b"]], carry_state=True)
    assert first.log2_probability() == again.log2_probability() != second.log2_probability()
    whole = toy_elmo().surprisal(SENTENCES)
    monkeypatch.setattr(module, "SENTENCES_AT_ONCE", 2)
    for one, other in zip(whole, toy_elmo().surprisal(SENTENCES), strict=True):
        assert one.log2_probability() == pytest.approx(other.log2_probability(), rel=1e-6)
    assert toy_elmo().surprisal([]) == []


def test_each_distinct_context_goes_through_the_softmax_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    compute = module.full_softmax_predictions

    def counted(hidden: torch.Tensor, *given: Any, **named: Any) -> object:
        rows.append(len(hidden))
        return compute(hidden, *given, **named)

    monkeypatch.setattr(module, "full_softmax_predictions", counted)
    toy_elmo().surprisal([["a", "b", "c"], ["a", "b", "a"], ["b", "c"], []])
    # forward: nothing, a, a b, a b c, a b a, b, b c; backward: nothing, c, b c, a b c, a, b a, a b a
    assert rows == [7, 7]


def test_details_are_those_of_the_context_of_each_target() -> None:
    details = SoftmaxDetails(ranks=True, entropies=True, num_likeliest=6)
    (result,) = toy_elmo().surprisal([["a", "c"]], details=details)
    for side, targets in ((result.forward, ["a", "c", "</S>"]), (result.backward, ["<S>", "a", "c"])):
        assert side is not None and side.likeliest is not None and side.ranks is not None
        assert side.entropies is not None
        for index, target in enumerate(targets):
            probabilities = dict(side.likeliest[index])
            assert sum(probabilities.values()) == pytest.approx(1.0)
            assert -math.log2(probabilities[target]) == pytest.approx(side.bits[index], rel=1e-5)
            assert list(probabilities).index(target) + 1 == side.ranks[index]
            entropy = -sum(value * math.log2(value) for value in probabilities.values())
            assert side.entropies[index] == pytest.approx(entropy, rel=1e-5)


def test_directions_that_are_not_asked_for_or_not_there_are_left_out() -> None:
    (forward,) = toy_elmo().surprisal([["a"]], direction="forward")
    assert forward.backward is None and list(forward.directions) == ["forward"]
    (backward,) = toy_elmo().surprisal([["a"]], direction="backward")
    assert backward.forward is None
    with pytest.raises(ValueError, match="direction is 'forward'; expected a computed one: backward"):
        backward.bits()
    (result,) = ONE_DIRECTION.surprisal([["a"]])
    assert list(result.directions) == ["forward"]


@pytest.mark.usefixtures("on_cpu")
def test_a_stored_model_reads_its_softmax_when_it_is_needed_and_refuses_that_of_other_weights(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "model")
    in_use, pickled = Elmo.from_pretrained(folder), pickle.dumps(Elmo.from_pretrained(folder))
    _ = in_use.bilm
    for elmo in (Elmo.from_pretrained(folder), pickle.loads(pickled)):
        assert elmo.surprisal(["a b"])[0].log2_probability() == toy_elmo().surprisal(["a b"])[0].log2_probability()
    shutil.rmtree(folder)
    write_native(folder, to_weights(random_bilm(seed=6), toy_parts()[1], VOCABULARY))
    for elmo in (in_use, pickle.loads(pickled), copy.deepcopy(in_use)):
        with pytest.raises(ValueError, match=r"the files of .*model have changed since it was loaded; load it again"):
            elmo.surprisal(["a b"])


def test_what_a_model_lacks_a_wrong_direction_and_a_token_with_spaces_are_refused(snapshot: SnapshotAssertion) -> None:
    bilm, softmax = toy_parts()
    cases = [
        (Elmo(bilm, VOCABULARY), "a", "both"),
        (Elmo(bilm, softmax=softmax), "a", "both"),
        (ONE_DIRECTION, "a", "backward"),
        (toy_elmo(), "a", "left"),
        *((toy_elmo(), (token, "are"), "both") for token in ("The keys", "a\tb", "a\n", "a\r")),
    ]
    assert refusals(lambda case: case[0].surprisal([case[1]], direction=case[2]), cases) == snapshot


def test_conditional_surprisal_is_what_a_part_adds_to_the_other() -> None:
    elmo = toy_elmo()
    prefixes, continuations = [["a", "b"], [], ["c"]], [["c", "z", "a"], ["a", "b"], ["b"]]
    found = elmo.conditional_surprisal(prefixes, continuations)
    whole = elmo.surprisal([[*pair[0], *pair[1]] for pair in zip(prefixes, continuations, strict=True)])
    given = {"forward": elmo.surprisal(prefixes), "backward": elmo.surprisal(continuations)}
    for index, pair in enumerate(found):
        for direction, read_first in given.items():
            added = whole[index].bits(direction).sum() - read_first[index].bits(direction).sum()
            assert pair.total(direction) == pytest.approx(added, rel=1e-4, abs=1e-4)
            assert pair.total(direction, unit="nats") == pytest.approx(added * math.log(2), rel=1e-4, abs=1e-4)
        assert (pair.prefix, pair.continuation) == (prefixes[index], continuations[index])
        assert (len(pair.bits()), len(pair.bits("backward"))) == (len(pair.continuation), len(pair.prefix))
    assert found[1].total() == pytest.approx(elmo.surprisal([["a", "b"]])[0].bits().sum())  # the prefix is empty


def test_conditional_surprisal_refuses_what_is_no_pair(snapshot: SnapshotAssertion) -> None:
    elmo = toy_elmo()
    pairs = (["a"], ["b", "c"]), (["a", "a"], ["b", " "]), ("a b", ["c"])
    assert refusals(lambda pair: elmo.conditional_surprisal(*pair), pairs) == snapshot
    (forward,) = elmo.conditional_surprisal(["a"], ["b"], direction="forward")
    assert refused_options(forward.total, [{"direction": "backward"}, {"unit": "bans"}]) == snapshot


def test_autocast_changes_nothing_and_a_softmax_that_is_trained_can_be_trained_on() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (found,) = toy_elmo().surprisal([["a", "b", "c"]])
    (expected,) = toy_elmo().surprisal([["a", "b", "c"]])
    np.testing.assert_array_equal(found.bits(), expected.bits())
    bilm, softmax = toy_parts()
    assert softmax.requires_grad_().weight.requires_grad
    Elmo(bilm, VOCABULARY, softmax=softmax).surprisal([["a"]])
    assert softmax.weight.requires_grad and softmax.bias.requires_grad


def test_a_softmax_on_another_device_is_copied_and_stays_where_it_is():
    softmax = Softmax(num_tokens=4, dim=2)
    parameters = dict(softmax.named_parameters())
    embedding = SimpleNamespace(weight=torch.empty(1, device="meta"))
    packed: Any = SimpleNamespace(char_encoder=SimpleNamespace(embedding=embedding))
    warnings: Any = None
    model = SurprisalModel(packed, softmax, VOCABULARY, warnings)
    assert {parameter.device.type for parameter in model.softmax.parameters()} == {"meta"}
    assert all(parameters[name] is parameter for name, parameter in softmax.named_parameters())
    assert softmax.weight.device.type == softmax.bias.device.type == "cpu"
    embedding.weight = torch.empty(1)
    assert SurprisalModel(packed, softmax, VOCABULARY, warnings).softmax is softmax
