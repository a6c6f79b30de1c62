"""Which words are used differently in two texts? Two small corpora, with uncertainty and contexts. Takes seconds."""

import tempfile
from pathlib import Path

from elmokit import ChangeSettings, Elmo, semantic_change

EARLIER = """\
The plane flew low over the airport .
Our plane landed in Paris before noon .
A small plane crashed in the hills .
The pilot turned the plane towards the sea .
The mouse ran under the kitchen table .
Our cat caught a mouse in the barn .
A grey mouse lives behind the wall .
An owl eats a mouse every night .
"""
LATER = """\
The plane was late because of the fog .
They boarded a plane to London last night .
Another plane took off from the airport .
The old plane had two engines .
Click the left button of the mouse .
I bought a new mouse for my computer .
Move the mouse to scroll the page .
The keyboard and the mouse need no cable .
"""

with tempfile.TemporaryDirectory() as folder:
    earlier, later = Path(folder, "earlier.txt"), Path(folder, "later.txt")
    earlier.write_text(EARLIER, encoding="utf-8")
    later.write_text(LATER, encoding="utf-8")
    settings = ChangeSettings(min_uses=4, num_contexts=1)
    result = semantic_change(Elmo.from_pretrained(), earlier, later, ["plane planes", "mouse mice"], settings)

for change in result.changes:
    excess = change.distances.excess
    print(f"{change.word:6} excess {excess.estimate:+.3f} [{excess.low:.3f}, {excess.high:.3f}], p {excess.p:.3f}")
    for name, uses in (("earlier", change.first), ("later", change.second)):
        print(f"       {name}: {' '.join(uses.moved_most[0].tokens)}")
