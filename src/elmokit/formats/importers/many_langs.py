"""ELMoForManyLangs (Che et al., 2018): models of 44 languages that read words and characters by their numbers.

A folder, or a zip of one, as in the NLPL repository: config.json, word.dic, char.dic, encoder.pkl, token_embedder.pkl,
and a JSON file of the architecture, which may be absent. Source: `frontend.py`, `elmo.py`, `dataloader.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from elmokit.files.json import read_json
from elmokit.files.lines import read_lines
from elmokit.files.weights_file import JoinedFiles
from elmokit.formats.file_kinds import PICKLES, FileKind
from elmokit.formats.importers.layouts import SAID_BY_TENSORS, Names, module_rows, read_native, sizes_of
from elmokit.formats.importers.sources import Imported, IncompleteError, Sources, the_file_with
from elmokit.model.config import MAX_CHARACTERS, BiLMConfig, LookupConfig
from elmokit.model.weights import Weights
from elmokit.system.messages import FormatError, first_token, leads_out
from elmokit.text.spelling import DictionarySpelling

DESCRIPTION = "ELMoForManyLangs (encoder.pkl, token_embedder.pkl, dictionaries)"
_NAMES = Names(
    embedding="char_emb_layer.embedding.weight",
    convolution="convolutions.",
    highway="highways._layers.",
    projection="projection.",
    lstm="",
    words="word_emb_layer.embedding.weight",
)
_ENCODER_ENDING = "forward_layer_0.input_linearity.weight"
_PLAIN_LSTM_ENDING = "encoder.weight_ih_l0"
_WORD_DICTIONARY, _CHARACTER_DICTIONARY = "word.dic", "char.dic"
MAX_LINES_PER_ROW = 4
"""A dictionary normally has one line for each row of the weights."""
_SPACE = "\u3000"  # the symbol of a line that seems to have none: stripping the line removes it
_ARCHITECTURE: dict[str, Any] = {
    "activation": "relu",
    "max_characters_per_token": 50,
    "cell_clip": 3.0,
    "projection_clip": 3.0,
}
"""Settings that do not follow from the tensors, as in `cnn_50_100_512_4096_sample.json`."""
_ASSUMED = (
    "there is no JSON file of the architecture next to the weights: relu, clipping at 3 and at most 50 characters per "
    "token are assumed, as in all released models"
)


class _Encoder(Struct):
    name: str
    projection_dim: int
    dim: int
    n_layers: int
    cell_clip: float | None = None
    proj_clip: float | None = None


class _TokenEmbedder(Struct):
    name: str
    activation: str = "relu"
    max_characters_per_token: int = 0
    """Needed for `cnn`; the config refuses 0."""


class _Architecture(Struct):
    encoder: _Encoder
    token_embedder: _TokenEmbedder


def load(sources: Sources) -> Imported | None:
    """The model, if the user gave a folder with its config and its encoder's weights, or a file in that folder."""
    given = set(sources.given.values())
    if sources.weights is not None or not given & {FileKind.MANY_LANGS_CONFIG, *PICKLES}:
        return None
    if FileKind.MANY_LANGS_CONFIG not in sources.in_folder.values():
        return None
    folder = sources.folder
    torch_files = sources.torch_files(must_be_readable=True, in_folder=True)
    if the_file_with(folder, torch_files, _PLAIN_LSTM_ENDING) is not None:
        raise FormatError(folder, 'is a model of plain LSTMs (encoder "lstm"); elmokit reads only type "elmo"')
    encoder = the_file_with(folder, torch_files, _ENCODER_ENDING)
    if encoder is None:
        return None
    embedder = the_file_with(folder, torch_files, f"{_NAMES.projection}weight")
    if embedder is None:
        raise IncompleteError(folder, "has no token_embedder.pkl, with the weights of the token representation")
    config_path = next(path for path, kind in sources.in_folder.items() if kind is FileKind.MANY_LANGS_CONFIG)
    # only the file name counts: the folder that the config gives is on the machine that trained the model
    named = str(read_json(config_path)["config_path"]).replace("\\", "/")
    path = folder / named.rpartition("/")[2]
    has_architecture = sources.in_folder.get(path) is FileKind.JSON
    settings, said = _read_architecture(path) if has_architecture else (_ARCHITECTURE, {})
    both = JoinedFiles(folder, embedder, encoder)
    sizes = sizes_of(both, _NAMES)
    shapes = {name: entry.shape for name, entry in both.entries.items()}
    num_words, word_dim = (*shapes.get(_NAMES.words, ()), 0, 0)[:2]
    num_symbols = shapes[_NAMES.embedding][0] if sizes["filters"] else 0
    words = _read_dictionary(folder / _WORD_DICTIONARY, num_rows=num_words)
    symbols = _read_dictionary(folder / _CHARACTER_DICTIONARY, num_rows=num_symbols)
    try:
        padding = symbols.get("<pad>", 0)
        lookup = LookupConfig(num_words, word_dim, num_symbols, padding_symbol=padding, projects=True)
        config = BiLMConfig(**sizes, **settings, lookup=lookup)
        most = config.max_characters_per_token
        spelling = DictionarySpelling(
            words=words, symbols=symbols, max_characters_per_token=most, begin="<bos>", end="<eos>", unknown="<oov>"
        )
    except ValueError as error:
        raise FormatError(folder, str(error)) from error
    tensors, dtypes = read_native([*module_rows(config, _NAMES)], both, expected=SAID_BY_TENSORS)
    for name, value in said.items():
        if (found := getattr(config, name)) != value:
            raise FormatError(folder, f"{name} is {found} in the tensors, but the architecture says {value}")
    weights = Weights(config, tensors, spelling=spelling)
    weights.check_spelling(folder)
    files = [config_path, *([path] if has_architecture else [])]
    files += [
        folder / name for name, numbers in ((_WORD_DICTIONARY, words), (_CHARACTER_DICTIONARY, symbols)) if numbers
    ]
    risks = [] if has_architecture else [_ASSUMED]
    return Imported(weights, [*files, embedder.path, encoder.path], dtypes, risks)


def _read_dictionary(path: Path, *, num_rows: int) -> dict[str, int]:
    """Symbol -> row of the weights. If lines have the same symbol, the last one counts, as in ELMoForManyLangs.

    A model without such rows does not have the file.
    """
    if not num_rows:
        return {}
    if not path.is_file() or leads_out(path):
        reason = "is missing, or a symlink that leaves the model's folder; it numbers the rows of the weights"
        raise FormatError(path, reason)
    numbers: dict[str, int] = {}
    seen: set[int] = set()
    for line_number, line in enumerate(read_lines(path, keep_marks=True), start=1):
        parts = line.strip().split("\t")
        symbol, number = parts if len(parts) == 2 else (_SPACE, parts[0])
        where = f"{path}, line {line_number}"
        if len(parts) > 2 or not (number.isascii() and number.isdigit()) or len(number) > 9:
            raise FormatError(where, f"is {first_token(line)}; expected a symbol, a tab, a number")
        if int(number) >= num_rows:
            raise FormatError(where, f"is number {number}; the weights have {num_rows:,} rows")
        if line_number > MAX_LINES_PER_ROW * num_rows:
            raise FormatError(path, f"has more than {MAX_LINES_PER_ROW} lines for each of the {num_rows:,} rows")
        numbers[symbol] = int(number)
        seen.add(int(number))
    if len(seen) < num_rows:
        has = f"has only {len(seen):,} of the row numbers from 0 to {num_rows - 1:,}"
        raise FormatError(path, f"{has}: it is cut short, or of another version of the model")
    return numbers


def _read_architecture(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The settings of the file, and the sizes that the tensors must have."""
    read = read_json(path, _Architecture)
    encoder, tokens = read.encoder, read.token_embedder
    if encoder.name != "elmo":
        found = first_token(encoder.name)
        raise FormatError(path, f"is {found}; elmokit reads encoders of type elmo", part="field encoder.name")
    cuts_words = tokens.name == "cnn"  # plain LSTMs over words do not cut them
    settings: dict[str, Any] = {
        "activation": tokens.activation,
        "max_characters_per_token": tokens.max_characters_per_token if cuts_words else MAX_CHARACTERS,
        "cell_clip": encoder.cell_clip or None,  # 0 means that nothing is clipped
        "projection_clip": encoder.proj_clip or None,
    }
    return settings, {
        "projection_dim": encoder.projection_dim,
        "lstm_dim": encoder.dim,
        "num_layers": encoder.n_layers,
    }
