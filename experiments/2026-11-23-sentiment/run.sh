#!/usr/bin/env bash
# SST-5 with the biLSTM classifier in place of BCN, without ELMo and with it, until the score stops improving.
# Run from the repository's root:  bash experiments/2026-11-23-sentiment/run.sh DATA_FOLDER OUTPUT_FOLDER [ARM...]
set -euo pipefail
data=$1 out=$2
shift 2
[ $# -gt 0 ] || set -- none both
for arm in "$@"; do
  for seed in 0 1 2; do
    run=$out/sentiment-bilstm-$arm-$seed  # in runs.jsonl under the name that paper/plan.py gives it
    if [ -f "$run/config.json" ]; then
      .venv/bin/elmokit train --resume "$run" --test
    else
      .venv/bin/elmokit train sentiment --data "$data/tasks/sst/sst" --run "$run" --recipe cpu-converged \
        --word-vectors "$data/tasks/glove/glove/glove.6B.50d.100k.txt.gz" --seed "$seed" --elmo "$arm" \
        --set classifier=bilstm --test
    fi
  done
done
