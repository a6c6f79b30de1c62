"""Every verb that writes, again and again, each time in a new process: always the same bits, apart from times.

An attempt is one run of one verb, in the order of the verbs; the first run of each says what the others have to give.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

from attacks.limited_child import Call, Limits, WrongError, run_limited
from attacks.outcome import Attempt, Part
from attacks.run_folders import PRETRAINING, SENTENCES
from attacks.targets import fast_disk
from attacks.text_files import TEXT
from attacks.weights import SPECIALS, WORDS, stored_bilm
from elmokit.cli.main import main
from elmokit.model.formats.native import write_native
from elmokit.system.safetensors import read_arrays, read_layout

_TRAINED = "model.first_dim=4 model.second_dim=3 word_dim=5 character_dim=3 max_epochs=2"
_TIMES = ("seconds", "processor_seconds", "tokens_per_second", "checksum")
_PRETRAIN = f"--recipe tiny --held-out TEXT --set {' '.join(PRETRAINING)}"
VERBS = {
    "embed .npz": "embed TEXT -o OUT/v.npz --model BILM",
    "vocabulary": "vocabulary TEXT -o OUT/words.txt",
    "prepare": "prepare TEXT -o OUT/corpus --min-tokens 1",
    "pretrain": f"pretrain TEXT --vocabulary VOCABULARY --run OUT/run {_PRETRAIN}",
    "embed .npy": "embed TEXT -o OUT/v.npy --model BILM",
    "embed .safetensors": "embed TEXT -o OUT/v.safetensors --model BILM",
    "embed .h5": "embed TEXT -o OUT/v.h5 --model BILM",
    "embed --tokenize": "embed TEXT -o OUT/v.npz --model BILM --tokenize --layers all",
    "convert to native": "convert BILM OUT/model --to native",
    "convert to bilm_tf": "convert BILM OUT/model --to bilm_tf --no-softmax",
    "perplexity": "perplexity BILM TEXT --json OUT/perplexity.json",
    "finetune": "finetune BILM TEXT --held-out TEXT --run OUT/run --set num_steps=2 batch_size=2 bptt_steps=3",
    "train": f"train named-entities --data DATA --run OUT/run --model BILM --no-cache --set {_TRAINED}",
    "predict": "predict TAGGER TEXT --input-kind text -o OUT/predictions.txt",
    "demo": "demo --html OUT/demo.html",
}
LIMITS = Limits(seconds=60.0)


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Run the verbs; nothing about them depends on the seed."""
    folder = Path(tempfile.mkdtemp(prefix="attack-again-", dir=fast_disk()))
    try:
        places = _places(folder)
        for number in numbers:
            verb = list(VERBS)[number % len(VERBS)]
            if verb == "predict" and not (folder / "tagger").exists():
                _run("train", places, folder / "tagger")
            if not (folder / "expected" / verb).exists():
                _run(verb, places, folder / "expected" / verb)
            call = Call(partial(_compare, verb, places, folder))
            (ending,) = run_limited([call], LIMITS)  # in a child of its own
            note = f"--seed {seed} --first {number}: {ending.said}" if ending.outcome.is_defect else ""
            yield Attempt(verb, ending.outcome, note)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compare(verb: str, places: dict[str, str], folder: Path) -> None:
    again = folder / "again"
    shutil.rmtree(again, ignore_errors=True)
    _run(verb, places, again)
    expected, found = _contents(folder / "expected" / verb), _contents(again)
    different = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    if different:
        raise WrongError(f"other bits in {', '.join(different)}")


def _run(verb: str, places: dict[str, str], output: Path) -> None:
    output.mkdir(parents=True)
    words = VERBS[verb].replace("OUT", "{OUT}").split()
    command = [_placed(word, places | {"OUT": str(output)}) for word in words]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        code = main(command)
    if code:
        raise WrongError(f"{' '.join(command)}: {said.getvalue()[-300:]}")


def _placed(word: str, places: dict[str, str]) -> str:
    if word.startswith("{OUT}"):
        return word.replace("{OUT}", places["OUT"])
    return places.get(word, word)


def _contents(folder: Path) -> dict[str, object]:
    """All files; records without times, and tensors where the header has times."""
    read: dict[str, Callable[[Path], object]] = {
        "metrics.jsonl": _records,
        "training.json": _records,
        "checkpoint.safetensors": _tensors,
    }
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {str(path.relative_to(folder)): read.get(path.name, _bytes)(path) for path in files}


def _bytes(path: Path) -> bytes:
    return path.read_bytes().replace(str(path.parent).encode(), b"")  # a run names its folder


def _records(path: Path) -> list[dict[str, object]]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [{name: value for name, value in record.items() if name not in _TIMES} for record in records]


def _tensors(path: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in read_arrays(path, read_layout(path)).items()}


def _places(folder: Path) -> dict[str, str]:
    """What the verbs read, by the names that stand for it in their commands."""
    write_native(folder / "bilm", stored_bilm())
    (folder / "text.txt").write_text(TEXT)
    (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in (*SPECIALS, *WORDS)))
    (folder / "data").mkdir()
    for name in ("train.txt", "valid.txt", "test.txt"):
        (folder / "data" / name).write_text(SENTENCES)
    names = {"BILM": "bilm", "TEXT": "text.txt", "VOCABULARY": "vocabulary.txt", "DATA": "data", "TAGGER": "tagger/run"}
    return {name: str(folder / file) for name, file in names.items()}


PART = Part("determinism", "every verb ten times", attempts, count=10 * len(VERBS), small_count=4)
