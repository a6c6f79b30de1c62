# What made the small-en before (small-en-86 in paper/plan.py), in one call: .gpu/en has the shards and, as vocab-en.txt.xz, the vocabulary.
mkdir -p /tmp/w && cp -r src experiments/2026-11-26-h100 .gpu/en /tmp/w/ && cd /tmp/w
python3 -c "import lzma; open('vocab-en.txt','wb').write(lzma.open('en/vocab-en.txt.xz').read())"; rm en/vocab*
export PYTHONPATH=/tmp/w/src:/tmp/w/2026-11-26-h100; cd 2026-11-26-h100
python3 -u train.py en3 /tmp/w/en /tmp/w/vocab-en.txt /tmp/w/en3.pt --streams 256 --dropout 0.05 --full 0 --rate 0.004 --fall 0.75 --seconds 118 > $OUT/en3.log 2>&1
python3 finish.py /tmp/w/en3.pt /tmp/w/vocab-en.txt /tmp/w/en /tmp/w/en3
split -b 15M /tmp/w/en3.bilm $OUT/en3.bilm.; split -b 15M /tmp/w/en3.softmax $OUT/en3.softmax.; cp /tmp/w/en3.jsonl $OUT/; tail -3 $OUT/en3.log; ls -la $OUT
