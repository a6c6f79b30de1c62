# First call: the English text, checks, and the training in the background.
mkdir -p /tmp/w && cp -r src experiments/2026-11-26-h100 .gpu/en .gpu/whl /tmp/w/ && cd /tmp/w
python3 -c "import lzma; open('vocab-en.txt','wb').write(lzma.open('en/vocab-en.txt.xz').read())"; rm en/vocab*
export PYTHONPATH=/tmp/w/src:/tmp/w/2026-11-26-h100
nvidia-smi | sed -n 3,15p; nproc; python3 -c "import torch; print(torch.__version__, torch.cuda.get_device_name())"
cat > en.sh <<'END'
cd /tmp/w/2026-11-26-h100
A="en /tmp/w/en /tmp/w/vocab-en.txt /tmp/w/en.pt --streams 256 --dropout ${DROPOUT:-0.05} --rate ${RATE:-0.004} --fall ${FALL:-0.75} --decay ${DECAY:-0.1}"
python3 -u train.py $A --seconds ${EN_SECONDS:-430} || NO_TRITON=1 python3 -u train.py $A --seconds 360 || python3 -u train.py $A --no-graph --seconds 320
touch /tmp/w/en.done
python3 finish.py /tmp/w/en.pt /tmp/w/vocab-en.txt /tmp/w/en /tmp/w/en
touch /tmp/w/en.finished
END
setsid nohup sh en.sh > en.log 2>&1 &
(cd 2026-11-26-h100 && timeout 60 python3 check.py > ../check.log 2>&1)
for i in $(seq 90); do sleep 1; [ $(grep -c "] step" en.log) -ge 2 ] && break; done
cat check.log en.log; nvidia-smi | sed -n 9,13p; uptime
