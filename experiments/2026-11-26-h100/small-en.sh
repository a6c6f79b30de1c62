# What made small-en, in one call: .gpu/en has the shards and, as vocab-en.txt.xz, the vocabulary.
mkdir -p /tmp/w && cp -r src experiments/2026-11-26-h100 .gpu/en /tmp/w/ && cd /tmp/w
python3 -c "import lzma; open('vocab-en.txt','wb').write(lzma.open('en/vocab-en.txt.xz').read())"; rm en/vocab*
export PYTHONPATH=/tmp/w/src:/tmp/w/2026-11-26-h100; cd 2026-11-26-h100
python3 -u train.py en3 /tmp/w/en /tmp/w/vocab-en.txt /tmp/w/en3.pt --streams 256 --dropout 0.05 --full 0 --rate 0.004 --fall 0.75 --seconds 118 > $OUT/en3.log 2>&1
python3 - <<'E'
import os, torch
s=torch.load('/tmp/w/en3.pt',weights_only=True); st=s['state']; w=st.pop('softmax.weight'); sc=w.abs().amax(1,keepdim=True)/127
torch.save({'q':(w/sc).round().to(torch.int8),'scale':sc,'bias':st.pop('softmax.bias')},'/tmp/w/en3.softmax')
torch.save({**s,'state':{k:v.half() for k,v in st.items()}},'/tmp/w/en3.bilm')
E
split -b 15M /tmp/w/en3.bilm $OUT/en3.bilm.; split -b 15M /tmp/w/en3.softmax $OUT/en3.softmax.; cp /tmp/w/en3.jsonl $OUT/; tail -3 $OUT/en3.log; ls -la $OUT
