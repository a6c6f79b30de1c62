"""ELMoForManyLangs (Che et al., 2018): models of 44 languages that read words and characters by their numbers.

A folder, or a zip of one, as in the NLPL repository: config.json, word.dic, char.dic, encoder.pkl, token_embedder.pkl,
and a JSON file of the architecture, which may be absent. Source: `frontend.py`, `elmo.py`, `dataloader.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.files.json_fields import Fields, blaming, read_json_object
from elmokit.files.lines import read_lines
from elmokit.files.torch_files import TorchFile
from elmokit.formats.config_json import MAX_CHARACTERS, MAX_CLIP
from elmokit.formats.file_kinds import PICKLES, FileKind
from elmokit.formats.format import Format, Inspection
from elmokit.formats.torch_layout import Names, check_shapes, read_torch_files, sizes_of, the_file_with, to_native
from elmokit.formats.weights import StoredBiLM
from elmokit.model.config import BiLMConfig, LookupConfig
from elmokit.system.messages import FormatError, first_token, leads_out
from elmokit.text.indexer import DictionarySpelling

if TYPE_CHECKING:
    from elmokit.formats.model_files import ModelFiles

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
"""A dictionary has a line for each row of the weights."""
_SPACE = "\u3000"  # what a line without a symbol stands for: they strip it
_ARCHITECTURE: dict[str, Any] = {
    "activation": "relu",
    "max_characters_per_token": 50,
    "cell_clip": 3.0,
    "projection_clip": 3.0,
}
"""What the tensors do not say, as in `cnn_50_100_512_4096_sample.json`."""
_ASSUMED = (
    "the JSON file of the architecture is not with the weights: relu, clipping at 3 and at most 50 characters per "
    "token are assumed, as in all released models"
)


@dataclass(frozen=True)
class _Model:
    """The two files of weights, which have been checked against each other, and everything small."""

    encoder: TorchFile
    embedder: TorchFile
    config: BiLMConfig
    spelling: DictionarySpelling
    files: list[Path]
    has_architecture: bool


def _recognise(files: ModelFiles) -> bool:
    """Whether a folder with a config of ELMoForManyLangs and the weights of its encoder was given, or a file in it."""
    given, kinds = set(files.given.values()), files.in_folder
    is_model = FileKind.MANY_LANGS_CONFIG in kinds.values() and files.weights is None
    if not is_model or not given & {FileKind.MANY_LANGS_CONFIG, *PICKLES}:
        return False
    torch_files = _torch_files(files)
    if the_file_with(files.folder, torch_files, _PLAIN_LSTM_ENDING) is not None:
        reason = 'is a model of plain LSTMs (encoder "lstm"); elmokit reads those of type "elmo"'
        raise FormatError(files.folder, reason)
    return the_file_with(files.folder, torch_files, _ENCODER_ENDING) is not None


def _torch_files(files: ModelFiles) -> list[TorchFile]:
    return read_torch_files((path for path, kind in files.in_folder.items() if kind in PICKLES), must_be_readable=True)


def _model(files: ModelFiles) -> _Model:
    folder, torch_files = files.folder, _torch_files(files)
    encoder = the_file_with(folder, torch_files, _ENCODER_ENDING)
    embedder = the_file_with(folder, torch_files, f"{_NAMES.projection}weight")
    if encoder is None or embedder is None:
        raise FormatError(folder, "has no token_embedder.pkl, with the weights of the token representation")
    config_path = next(path for path, kind in files.in_folder.items() if kind is FileKind.MANY_LANGS_CONFIG)
    # the JSON file that the config names, by its name alone: the path is of the machine that trained
    named = Fields(config_path, read_json_object(config_path)).text("config_path").replace("\\", "/")
    path = folder / named.rpartition("/")[2]
    has_architecture = files.in_folder.get(path) is FileKind.JSON
    architecture, said = _read_architecture(path) if has_architecture else (_ARCHITECTURE, {})
    shapes = {**embedder.shapes(), **encoder.shapes()}
    sizes = sizes_of(folder, shapes, _NAMES)
    num_words, word_dim = (*shapes.get(_NAMES.words, ()), 0, 0)[:2]
    num_symbols = shapes[_NAMES.embedding][0] if sizes["filters"] else 0
    words = _read_dictionary(folder / _WORD_DICTIONARY, num_rows=num_words)
    symbols = _read_dictionary(folder / _CHARACTER_DICTIONARY, num_rows=num_symbols)
    with blaming(folder):
        lookup = LookupConfig(
            num_words=num_words,
            word_dim=word_dim,
            num_symbols=num_symbols,
            padding_symbol=symbols.get("<pad>", 0),
            projects=True,
        )
        config = BiLMConfig(**sizes, **architecture, lookup=lookup)
    check_shapes(folder, shapes, config, _NAMES, files=[encoder.path, embedder.path])
    for name, value in said.items():
        if (found := getattr(config, name)) != value:
            raise FormatError(folder, f"{name} is {found} in the tensors, but the architecture says {value}")
    with blaming(folder):
        spelling = DictionarySpelling(
            words=words,
            symbols=symbols,
            max_characters_per_token=config.max_characters_per_token,
            begin="<bos>",
            end="<eos>",
            unknown="<oov>",
        )
    small = [config_path, *([path] if has_architecture else [])]
    small += [folder / _WORD_DICTIONARY] if words else []
    small += [folder / _CHARACTER_DICTIONARY] if symbols else []
    return _Model(encoder, embedder, config, spelling, [*small, embedder.path, encoder.path], has_architecture)


def _read_dictionary(path: Path, *, num_rows: int) -> dict[str, int]:
    """Numbers by symbol, one for each row of the weights; of lines with the same symbol the last counts, as there.

    A model without such rows has no such file.
    """
    if not num_rows:
        return {}
    if not path.is_file() or leads_out(path):
        reason = "is missing, or a link out of the model's folder; its numbers are the rows of the weights"
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
        has = f"has {len(seen):,} of the numbers from 0 to {num_rows - 1:,}, which are the rows of the weights"
        raise FormatError(path, f"{has}: it is cut short, or of another version of the model")
    return numbers


def _read_architecture(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The settings of the file, and the sizes, which must be those of the tensors."""
    fields = Fields(path, read_json_object(path))
    encoder, tokens = fields.fields("encoder"), fields.fields("token_embedder")
    if encoder.text("name") != "elmo":
        raise encoder.error("name", f"is {first_token(encoder.text('name'))}; elmokit reads encoders of type elmo")
    cuts_words = tokens.text("name") == "cnn"  # plain LSTMs over words do not cut them
    limit = tokens.integer("max_characters_per_token", least=3, most=MAX_CHARACTERS) if cuts_words else MAX_CHARACTERS
    architecture: dict[str, Any] = {
        "activation": tokens.text("activation") if "activation" in tokens else "relu",
        "max_characters_per_token": limit,
    }
    for ours, theirs in (("cell_clip", "cell_clip"), ("projection_clip", "proj_clip")):
        value = encoder.read(theirs, float | None, most=MAX_CLIP) if theirs in encoder else None
        architecture[ours] = value or None  # 0 means that nothing is clipped
    sizes = {"projection_dim": "projection_dim", "lstm_dim": "dim", "num_layers": "n_layers"}
    return architecture, {ours: encoder.integer(theirs) for ours, theirs in sizes.items()}


def _read(files: ModelFiles, with_softmax: bool) -> StoredBiLM:
    model = _model(files)
    read = {name: file.read for file in (model.embedder, model.encoder) for name in file.tensors}
    tensors = to_native(model.config, _NAMES, lambda name: read[name](name))
    stored = StoredBiLM(config=model.config, tensors=tensors, spelling=model.spelling)
    stored.check_spelling(files.folder)
    return stored


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    model = _model(files)
    inspection.add_files(*model.files)
    inspection.config = model.config
    inspection.dtypes = sorted({*model.encoder.dtypes(), *model.embedder.dtypes()})
    if not model.has_architecture:
        inspection.risks.append(_ASSUMED)


MANY_LANGS = Format(
    name="many_langs",
    description="ELMoForManyLangs (encoder.pkl, token_embedder.pkl, dictionaries)",
    recognise=_recognise,
    inspect=_inspect,
    read=_read,
)
