#!/usr/bin/env bash
# SST-5 until the score stops improving, three seeds each: BCN with ELMo at the output alone (table 1 has it without
# ELMo and with it at both places), and the biLSTM classifier without ELMo and with it.
# Run from the repository's root:  bash experiments/2026-11-23-sentiment/run.sh DATA_FOLDER OUTPUT_FOLDER [ARM...]
set -euo pipefail
data=$1 out=$2
shift 2
[ $# -gt 0 ] || set -- bcn-output bilstm-none bilstm-both
for arm in "$@"; do
  for seed in 0 1 2; do
    run=$out/sentiment-$arm-$seed
    if [ -f "$run/config.json" ]; then
      .venv/bin/elmokit train --resume "$run"
    else
      .venv/bin/elmokit train sentiment --data "$data/tasks/sst/sst" --run "$run" --recipe cpu-converged \
        --word-vectors "$data/tasks/glove/glove/glove.6B.50d.100k.txt.gz" --seed "$seed" --elmo "${arm#*-}" \
        --set "classifier=${arm%-*}" --test
    fi
  done
done
