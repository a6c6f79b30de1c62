# While the Korean model trains, when the English one is there: it in the form of the bundled one, measured.
cd /tmp/w; for i in $(seq ${WAIT:-60}); do [ -e en.finished ] && break; sleep 1; done
export PYTHONPATH=/tmp/w/src:$OLDPWD:/tmp/w/2026-11-26-h100 OMP_NUM_THREADS=1
mkdir -p data/tasks data/external bundle run
for group in tasks external; do for file in $OLDPWD/.gpu/eval/$group/*.tar.xz; do
  name=$(basename $file .tar.xz); mkdir -p data/$group/$name; tar -xf $file -C data/$group/$name & done; done
python3 2026-11-26-h100/adopt.py en.bilm en.softmax en.jsonl vocab-en.txt run/small-en $(seq -f train-%05g.txt 0 4)
python3 -c "
from elmokit.formats.convert import convert
convert('run/small-en', 'bundle/small-en', to='native', dtype='float16', softmax_dtype='int8', max_file_bytes=21_000_000)"
wait
for table in blimp reading-times table5 wic table6; do
  timeout ${EVAL_SECONDS:-150} python3 -m paper tables $table --model bundle/small-en --data data --results $OUT/$table -o pages > $table.log 2>&1 &
done; wait
tail -n 2 blimp.log reading-times.log table5.log wic.log table6.log; ls -la $OUT/*; tail -2 ko.log
