#!/usr/bin/env bash
# Which settings: runs of 200 steps (256,000 tokens) with one difference each, judged by the full softmax on 500
# held-out sentences. Run from the repository's root:  bash experiments/2026-11-20-mini-en/short_runs.sh DATA_FOLDER
set -euo pipefail
data=$1
sample=$(mktemp --suffix .txt)
xz -dc "$data/heldout.txt.xz" | shuf -n 500 --random-source=<(yes) > "$sample"
run() {
  name=$1; shift
  .venv/bin/elmokit pretrain "$data"/train-*.txt.xz --vocabulary "$data/vocab.txt.xz" --run "runs/short-$name" \
    --recipe mini --set num_steps=200 warmup_steps=50 checkpoint_every=200 "$@" 2> /dev/null
  echo "== $name: $*"
  .venv/bin/elmokit perplexity "runs/short-$name" "$sample"
}
run reset reset_state=true
run carry reset_state=false
.venv/bin/elmokit perplexity runs/short-carry --carry-state "$sample"
run released reset_state=false optimizer=adagrad learning_rate=0.2 schedule=constant warmup_steps=0 softmax_scale=1 \
  zipf_bias=false dropout_rate=0.1 num_negatives=8192
