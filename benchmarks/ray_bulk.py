"""Words per second of `embed_parquet` with one and two local workers, and with two workers when one is killed.

    python benchmarks/ray_bulk.py [--words 1000000] [--output FILE]

The text is `.data/en/train-00000.txt`, in row groups of 5,000 words. Every run must write the same bytes as one process
without Ray, which is timed too. The start of Ray is timed separately; the start of the workers is part of their run.
Wall times include other work on the machine, so the load average is recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from elmokit.elmo.elmo import Elmo
from elmokit.files.lines import read_lines
from elmokit.integrations.ray_data import embed_parquet, embed_piece, list_pieces
from elmokit.system.batches import batched

TEXT = Path(__file__).parents[1] / ".data" / "en" / "train-00000.txt"
GROUP_WORDS = 5_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--words", type=int, default=1_000_000)
    parser.add_argument("--text", type=Path, default=TEXT)
    parser.add_argument("--output", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    import ray

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        num_words = write_corpus(arguments.text, folder / "corpus.parquet", arguments.words)
        records = [{"words": num_words, "row groups": len(list_pieces(folder / "corpus.parquet", folder / "out"))}]
        expected = one_process(folder, num_words, records)
        start = time.monotonic()
        start_ray(ray)
        records.append({"run": "start of Ray", "seconds": round(time.monotonic() - start, 1)})
        for name, workers, kills in (("2 workers, one killed", 2, 1), ("2 workers", 2, 0), ("1 worker", 1, 0)):
            output = folder / name.replace(" ", "-")
            killed: list[int] = []
            killer = threading.Thread(target=kill_worker, args=(output, killed))
            if kills:
                killer.start()
            done = embed_parquet(folder / "corpus.parquet", output, workers=workers)
            if kills:
                killer.join()
            found = {path.name: path.read_bytes() for path in output.iterdir()}
            record = {"run": name, "seconds": round(done.seconds, 1), "killed": len(killed)}
            record |= {"words per second": round(done.num_tokens / done.seconds), "same bytes": found == expected}
            records.append(record | {"load": [round(load, 1) for load in os.getloadavg()]})
            print(json.dumps(record), flush=True)
            if arguments.output:
                arguments.output.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
        ray.shutdown()


def start_ray(ray: Any) -> None:
    """Start Ray on two cores. Ray gives up after 30 seconds, so a busy machine may need several attempts."""
    for attempt in range(10):
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
            return
        except Exception:
            ray.shutdown()
            if attempt == 9:
                raise


def write_corpus(text: Path, path: Path, num_words: int) -> int:
    """Write lines of a text with at least `num_words` words in all, as a column `text`; return the number of words."""
    written = 0
    lines = batched(read_lines(text), size=10**9, weight=lambda line: len(line.split(" ")), enough_weight=GROUP_WORDS)
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as file:
        for group in islice(lines, -(-num_words // GROUP_WORDS)):
            file.write_table(pa.table({"text": group}))
            written += sum(len(line.split(" ")) for line in group)
    return written


def one_process(folder: Path, num_words: int, records: list[dict[str, object]]) -> dict[str, bytes]:
    """The output files that this process makes, without Ray and in one thread."""
    import torch

    torch.set_num_threads(1)
    (folder / "alone").mkdir()
    start, processor = time.monotonic(), time.process_time()
    elmo = Elmo.from_pretrained(device="cpu")
    for piece in list_pieces(folder / "corpus.parquet", folder / "alone"):
        embed_piece(elmo, piece)
    seconds, used = time.monotonic() - start, time.process_time() - processor
    record = {"run": "one process, without Ray", "seconds": round(seconds, 1), "CPU seconds": round(used, 1)}
    record |= {"words per second": round(num_words / seconds), "words per CPU second": round(num_words / used)}
    records.append(record)
    print(json.dumps(record), flush=True)
    return {path.name: path.read_bytes() for path in (folder / "alone").iterdir()}


def kill_worker(output: Path, killed: list[int]) -> None:
    """Kill one worker with SIGKILL as soon as the first output file exists."""
    while not (output.is_dir() and any(path.suffix == ".parquet" for path in output.iterdir())):
        time.sleep(0.02)
    for pid in islice(ray_workers(), 1):
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)


def ray_workers() -> Iterator[int]:
    """The actor processes of the Ray instance that this process started; only on Linux."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_actor = b"MapWorker" in (folder / "cmdline").read_bytes()
            if is_actor and parent(parent(int(folder.name))) == os.getpid():
                yield int(folder.name)
        except (OSError, ValueError):  # the process has ended
            continue


def parent(pid: int) -> int:
    """The process that started this one."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


if __name__ == "__main__":
    main()
