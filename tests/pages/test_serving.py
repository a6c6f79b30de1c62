"""examples/serve.py: requests that come together are encoded together, with the vectors that each would get alone."""

import http.client
import json
import runpy
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from elmokit import Elmo
from page_code import ROOT

SCRIPT = runpy.run_path(str(ROOT / "examples" / "serve.py"))
SENTENCES = [f"The bank raised its {word} rates{'.' * (word % 3)}" for word in range(40)]


class Counted(Elmo):
    """Remembers the sizes of batches."""

    def __init__(self) -> None:
        super().__init__("small-en")
        self.sizes: list[int] = []

    def encode_sentences(self, sentences: Any, **options: Any) -> Any:
        self.sizes.append(len(sentences))
        return super().encode_sentences(sentences, **options)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with SCRIPT["Server"](("127.0.0.1", 0), Counted()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def post(server: Any, body: str) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)) as connection:
        connection.request("POST", "/", body.encode())
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def test_requests_share_batches_and_get_the_bits_of_single_ones(server: Any):
    elmo = server.batcher._elmo
    with ThreadPoolExecutor(len(SENTENCES)) as clients:
        answers = list(clients.map(lambda sentence: post(server, json.dumps([sentence])), SENTENCES))
    assert sum(elmo.sizes) == len(SENTENCES) > len(elmo.sizes)
    for sentence, (status, (answer,)) in zip(SENTENCES, answers, strict=True):
        assert status == 200
        (alone,) = elmo.encode([sentence])
        assert len(answer["tokens"]) == len(alone)
        np.testing.assert_array_equal(np.array(answer["vectors"], np.float32), alone)


@pytest.mark.parametrize("body", ["", "{", '"a text"', "[1]"])
def test_another_body_is_refused(server: Any, body: str):
    status, answer = post(server, body)
    assert status == 400 and answer["error"]
    assert post(server, '["It continues."]')[0] == 200


def test_an_error_of_a_batch_is_answered_and_the_next_is_encoded(server: Any, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patched:
        patched.setattr(server.batcher, "_elmo", None)
        status, answer = post(server, '["a"]')
    assert status == 500 and "encode_sentences" in answer["error"]
    assert post(server, "[]") == (200, [])
