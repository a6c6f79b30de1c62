"""Models on the Hugging Face Hub: an address such as hf://user/model@revision -> a folder in its cache, and back.

Needs the extra `hub`. Only files of the native format are downloaded, so weights are always safetensors.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from elmokit.files.downloads import OFFLINE, is_offline
from elmokit.files.json import read_json
from elmokit.formats.native import CARD_NAME, DICTIONARY_NAME, VOCABULARY_NAME
from elmokit.runs.folder import BILM_FORMAT, CONFIG_NAME, WEIGHTS_NAME
from elmokit.system.optional import require
from elmokit.version import __version__

SCHEME = "hf://"
FILES = (CONFIG_NAME, CARD_NAME, WEIGHTS_NAME, "softmax-*.safetensors", VOCABULARY_NAME, DICTIONARY_NAME)
"""Patterns of the files of the native format."""
PURPOSE = f"a model on the Hugging Face Hub ({SCHEME}...)"

_ADDRESS = re.compile(r"hf:/{1,2}([\w.-]+/[\w.-]+)(?:@([^@\s]+))?", re.ASCII)
"""One slash is enough, because `pathlib.Path` drops the second slash of an address."""


def is_address(name: object) -> bool:
    """Whether a model's name is an address on the Hub, or a `pathlib.Path` made from one."""
    return str(name).startswith((SCHEME, "hf:/"))


def download(address: str | Path) -> Path:
    """The folder of a model on the Hub, in the cache of `huggingface_hub`. Files in the cache are not downloaded again.

    address: hf://user/model, or hf://user/model@revision with a branch, a tag or a commit. Once a model is in the
        cache, it is read without network if it is pinned to a commit, or if the Hub cannot be reached.
    Raises ValueError without the extra, for a string that is not an address, and for a repository without an elmokit
    model; FileNotFoundError if there is no such repository or revision, and OSError if it cannot be reached.
    """
    repository, revision = parts_of(address)
    hub = require("huggingface_hub", extra="hub", purpose=PURPOSE)
    about = {"library_name": "elmokit", "library_version": __version__, "local_files_only": is_offline()}
    snapshot = partial(hub.snapshot_download, repository, **about)  # returns a folder named after the commit
    with _speaking_of(str(address)):
        commit = Path(snapshot(revision=revision, allow_patterns=[CONFIG_NAME])).name
        config = hub.try_to_load_from_cache(repository, CONFIG_NAME, revision=commit)
        if not isinstance(config, str) or read_json(Path(config)).get("format") != BILM_FORMAT:
            raise ValueError(  # before the weights of another program's model are downloaded
                f"{address} is not a model of elmokit: its repository has no {CONFIG_NAME} of elmokit. Download its "
                "files, and convert them with `elmokit convert FILES FOLDER`"
            )
        return Path(snapshot(revision=commit, allow_patterns=list(FILES)))


def pinned(address: str | Path) -> str:
    """The address, pinned to its present commit. Downloads that commit, and raises the errors of `download`."""
    repository, _ = parts_of(address)
    return f"{SCHEME}{repository}@{download(address).name}"


def upload(folder: Path, address: str, *, private: bool, message: str) -> str:
    """Upload a folder to the Hub, and return the address of the new commit. A card that exists there is kept.

    address: hf://user/model, or hf://user/model@branch for a branch that exists. The repository is created if it does
        not exist, and only then does `private` have an effect.
    Raises ValueError without the extra and for a string that is not an address; OSError if the Hub refuses, for example
    without a login.
    """
    repository, branch = parts_of(address)
    if is_offline():
        raise OSError(f"{address}: nothing is uploaded while {' or '.join(OFFLINE)} is set")
    hub = require("huggingface_hub", extra="hub", purpose=PURPOSE)
    with _speaking_of(address):
        api = hub.HfApi(library_name="elmokit", library_version=__version__)
        api.create_repo(repository, private=private, exist_ok=True)
        has_card = api.file_exists(repository, CARD_NAME, revision=branch)
        commit = api.upload_folder(
            repo_id=repository,
            folder_path=folder,
            revision=branch,
            commit_message=message,
            ignore_patterns=[CARD_NAME] if has_card else None,
        )
    return f"{SCHEME}{repository}@{commit.oid}"


def parts_of(address: str | Path) -> tuple[str, str | None]:
    """The repository of an address, and its revision if there is one. Raises ValueError if it is not an address."""
    found = _ADDRESS.fullmatch(str(address))
    if found is None:
        expected = f"expected {SCHEME}user/model or {SCHEME}user/model@revision"
        raise ValueError(f"{str(address)!r} is not the address of a model on the Hub; {expected}")
    return found[1], found[2]


@contextmanager
def _speaking_of(address: str) -> Generator[None]:
    """Raise errors of huggingface_hub again, with the model's address and what to do."""
    errors = require("huggingface_hub.errors", extra="hub", purpose=PURPOSE)
    try:
        yield
    except errors.GatedRepoError as error:
        raise PermissionError(f"{address} is gated: ask for access on its page, and run `hf auth login`") from error
    except errors.RevisionNotFoundError as error:
        raise FileNotFoundError(f"{address}: the repository has no such branch, tag or commit") from error
    except errors.RepositoryNotFoundError as error:
        reason = "the Hub has no such repository; if it is private, run `hf auth login` or set HF_TOKEN"
        raise FileNotFoundError(f"{address}: {reason}") from error
    except errors.LocalEntryNotFoundError as error:
        if isinstance(error.__cause__, errors.HfHubHTTPError):  # the Hub answered
            raise _refusal(address, error.__cause__) from error
        reason = f"the Hub cannot be reached (offline, or {' or '.join(OFFLINE)} is set)"
        raise FileNotFoundError(f"{address} is not in the cache, and {reason}") from error
    except (errors.HTTPError, RuntimeError) as error:  # RuntimeError: a file could not be uploaded
        raise _refusal(address, error) from error


def _refusal(address: str, error: Exception) -> OSError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    text = f"{address}: the Hub refused the request or could not be reached: {reason}"
    if getattr(getattr(error, "response", None), "status_code", None) not in (401, 403):
        return OSError(text)
    return PermissionError(f"{text} (run `hf auth login`, or set HF_TOKEN to a token that may use this model)")
