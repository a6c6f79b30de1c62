"""Serve vectors over HTTP. One thread encodes all requests that arrived during the last batch as the next batch.

python examples/serve.py [--model small-en] [--port 8000]
curl localhost:8000 -d '["The bank raised its rates."]'
"""

import argparse
import json
import queue
import threading
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from elmokit import Elmo

MAX_BATCH = 256
"""Largest number of sentences that are encoded together."""
MAX_BYTES = 2**20
"""Largest size of a request."""


class Batcher:
    """Encodes the sentences of many threads in a few large batches; batching does not change a sentence's vectors."""

    def __init__(self, elmo: Elmo) -> None:
        self._elmo = elmo
        self._waiting: queue.SimpleQueue[tuple[str, Future[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def encode(self, sentences: list[str]) -> list[Any]:
        """The tokens and vectors of each sentence; waits until all of them are encoded."""
        futures: list[Future[Any]] = [Future() for _ in sentences]
        for pair in zip(sentences, futures, strict=True):
            self._waiting.put(pair)
        return [future.result() for future in futures]

    def _work(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while len(batch) < MAX_BATCH and not self._waiting.empty():
                batch.append(self._waiting.get())
            try:
                results = self._elmo.encode_sentences([sentence for sentence, _ in batch], layers="top")
                for (_, future), result in zip(batch, results, strict=True):
                    future.set_result(result)
            except Exception as error:  # every request of the batch gets the error, and the next batch starts
                for _, future in batch:
                    future.set_exception(error)


class Handler(BaseHTTPRequestHandler):
    """POST a JSON list of sentences; the answer has the tokens and the vectors of each."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_POST(self) -> None:
        try:
            sentences = self._sentences()
        except ValueError as error:
            self.close_connection = True  # the request's body may be unread
            return self._answer(400, {"error": str(error)})
        try:
            encoded = self.server.batcher.encode(sentences)
        except Exception as error:
            return self._answer(500, {"error": str(error)})
        return self._answer(200, [{"tokens": one.tokens, "vectors": one.vectors.tolist()} for one in encoded])

    def _sentences(self) -> list[str]:
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 < size <= MAX_BYTES:
            raise ValueError(f"the request has {size} bytes; expected 1 to {MAX_BYTES}")
        sentences = json.loads(self.rfile.read(size))
        if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
            raise ValueError('expected a JSON list of sentences, such as ["The bank raised its rates."]')
        return sentences

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """A thread for each connection, and one batcher for all of them."""

    daemon_threads = True
    request_queue_size = 256  # connections that wait to be accepted

    def __init__(self, address: tuple[str, int], elmo: Elmo) -> None:
        super().__init__(address, Handler)
        self.batcher = Batcher(elmo)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="small-en")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    with Server(("127.0.0.1", arguments.port), Elmo(arguments.model)) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
