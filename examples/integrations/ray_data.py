"""Embeds a folder of Parquet files twice with two local Ray workers; the second time, everything is already there."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from elmokit import load_vectors
from elmokit.integrations.ray_data import embed_parquet

TEXTS = ["We sat on the bank of the river.", "The bank raised its rates.", "It's cold.", "The boats left."]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        corpus, output = Path(folder, "corpus"), Path(folder, "vectors")
        corpus.mkdir()
        table = pa.table({"id": [10, 11, 12, 13], "text": TEXTS})
        pq.write_table(table, corpus / "reviews.parquet", row_group_size=2)

        for _ in range(2):
            done = embed_parquet(corpus, output, raw_text=True, workers=2)
            print(f"{done.num_files} files, {done.num_tokens} tokens, of which {done.num_tokens_before} were there")

        for path in sorted(output.iterdir()):
            vectors = load_vectors(path)
            print(path.name, vectors.sentences()[0], vectors[0].shape, pq.read_table(path)["id"].to_pylist())
