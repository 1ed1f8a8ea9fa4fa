"""The extra stream: votes on disk give the labels that votes in memory give."""

import os
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"
import faircrowd as fc
from faircrowd.engines import read_votes_on_disk

rows = [f"{t},{w},{'xy'[(t * 7 + w * 3) % 5 % 2]}" for t in range(60) for w in range(3)]
Path("votes.csv").write_text("\n".join(["task,worker,label", *rows]) + "\n", encoding="utf-8")
streamed = fc.MajorityVote().fit(read_votes_on_disk("votes.csv"))
in_memory = fc.MajorityVote().fit(fc.read_votes("votes.csv"))
assert streamed.posterior_.label_codes.tolist() == in_memory.posterior_.label_codes.tolist()
