# Second call: the Korean text; its training begins when the English one has ended.
cp -r .gpu/ko /tmp/w/ && cd /tmp/w
python3 -c "import lzma; open('vocab-ko.txt','wb').write(lzma.open('ko/vocab-ko.txt.xz').read())"; rm ko/vocab*
export PYTHONPATH=/tmp/w/src:/tmp/w/2026-11-26-h100
cat > ko.sh <<'END'
cd /tmp/w/2026-11-26-h100
A="ko /tmp/w/ko /tmp/w/vocab-ko.txt /tmp/w/ko.pt --streams 256 --dropout 0.05 --projection-dim 128 --rate 0.004 --fall 0.75 --decay 0.1 --wait-for /tmp/w/en.done"
python3 -u train.py $A --seconds ${KO_SECONDS:-170} || python3 -u train.py $A --no-graph --seconds 120
touch /tmp/w/ko.done
python3 finish.py /tmp/w/ko.pt /tmp/w/vocab-ko.txt /tmp/w/ko /tmp/w/ko
touch /tmp/w/ko.finished
END
setsid nohup sh ko.sh > ko.log 2>&1 &
sleep 2; tail -5 en.log; uptime
