"""The explorer in Chromium: difference from Python's vectors, bytes, loading time, time of a slider step; screenshots.

Times are wall-clock times, so they are only useful on a quiet machine. The script also measures the load average, and
the CPU seconds of Chromium and of the server, which depend less on other work.

    python benchmarks/explorer.py .data/en/heldout.txt.xz .data/ko/heldout.txt.xz [--json FILE] [--pictures docs]

Reads the first 200 sentences of each file with the bundled model of its language. Needs Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import platform
import re
import shutil
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

import elmokit
from elmokit import Elmo
from elmokit.files.lines import read_lines
from elmokit.web.explore.server import address, serve
from elmokit.web.explore.site import write_site

NUM_SENTENCES = 200
NUM_LOADS = 5
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
READ = """async (sentences) => {
  const started = performance.now();
  const { BiLM } = await import("/scripts/bilm.js");
  const { readSafetensors } = await import("/scripts/safetensors.js");
  const config = await (await fetch("/model/config.json")).json();
  const weights = await (await fetch("/model/model.safetensors")).arrayBuffer();
  const bilm = await BiLM.create(config.bilm, readSafetensors(weights));
  const loaded = performance.now() - started;
  const text = (array) => Array.from(new Uint8Array(array.buffer), (byte) => String.fromCharCode(byte)).join("");
  const results = sentences.map((tokens) => {
    const before = performance.now();
    const layers = bilm.read(tokens);
    return { milliseconds: performance.now() - before, layers: layers.map((layer) => btoa(text(layer))) };
  });
  const again = sentences[0];
  const warm = performance.now();
  bilm.read(again);
  return { loaded, results, warm: performance.now() - warm };
}"""

SLIDE = """async () => {
  const slider = document.querySelector("input[data-layer='1']");
  const times = [];
  for (let step = 1; step <= 20; step++) {
    const before = performance.now();
    slider.value = step / 20;
    slider.dispatchEvent(new Event("input"));
    while (document.querySelector("#panel[aria-busy]")) await new Promise((resolve) => setTimeout(resolve, 0));
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - before);
  }
  return times;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("english", type=Path)
    parser.add_argument("korean", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    texts = {"small-en": arguments.english, "mini-ko": arguments.korean}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        results: dict[str, Any] = {
            "elmokit": elmokit.__version__,
            "chromium": browser.version,
            "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
            "load_average": round(os.getloadavg()[0], 1),
        }
        for name, text in texts.items():
            with serve(write_site(Path(folder) / name, model=name).parent) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                results[name] = measured(browser, address(server), name, text)
                if arguments.pictures:
                    take_pictures(browser, address(server), name, arguments.pictures)
                server.shutdown()
        browser.close()
    print(json.dumps(results, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def measured(browser: Browser, site: str, name: str, text: Path) -> dict[str, float]:
    """Differences and times of the first sentences of a text."""
    sentences = [line.split(" ") for line in islice(read_lines(text), NUM_SENTENCES)]
    loads = [load(browser, site) for _ in range(NUM_LOADS)]
    words, ready, processor = np.median(loads, axis=0)
    page = browser.new_page()
    page.goto(site)
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    found = page.evaluate(READ, sentences)
    page.close()
    bytes_at_first, slider_step = sliding(browser, site)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = Elmo(name).encode(sentences, layers="all")
    differences = [
        float(np.abs(numbers(result["layers"]).reshape(array.shape) - array).max())
        for result, array in zip(found["results"], exact, strict=True)
    ]
    of_20_words = [
        result["milliseconds"]
        for result, tokens in zip(found["results"], sentences, strict=True)
        if 18 <= len(tokens) <= 22
    ]
    return {
        "sentences": len(sentences),
        "largest_difference": max(differences),
        "bytes_without_model_and_corpus": bytes_at_first,
        "median_milliseconds_of_a_slider_step_with_300_occurrences": round(slider_step, 1),
        "words_shown_seconds": round(float(words), 2),
        "page_ready_seconds": round(float(ready), 2),
        "page_ready_cpu_seconds": round(float(processor), 2),
        "model_loaded_milliseconds": round(found["loaded"], 1),
        "median_milliseconds_of_20_words": round(float(np.median(of_20_words)), 1),
    }


def sliding(browser: Browser, site: str) -> tuple[int, float]:
    """Bytes of the page without model and corpus, and the milliseconds of one slider step next to a full map."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    sizes: dict[str, int] = {}
    page.on("response", lambda response: sizes.update({response.url: len(response.body())}))
    page.goto(site)
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    loaded = sum(size for url, size in sizes.items() if not re.search(r"/model/|/corpus|/rates", url))
    text = "%0A".join(f"{number}{'%20bank' * 10}" for number in range(30))
    page.evaluate("(text) => { location.hash = `v=map&i=1&t=${text}`; }", text)
    page.wait_for_selector("#panel .scroll .mark >> nth=299", state="attached", timeout=120_000)
    page.evaluate(SLIDE)
    times = page.evaluate(SLIDE)
    page.close()
    return loaded, float(np.median(times))


def numbers(layers: list[str]) -> np.ndarray:
    """The float32 numbers of all layers, sent as text because a browser hands over millions of numbers one by one."""
    return np.concatenate([np.frombuffer(base64.b64decode(layer), "<f4") for layer in layers])


def load(browser: Browser, site: str) -> tuple[float, float, float]:
    """Seconds until words can be chosen, seconds until the first view is ready, and CPU seconds until then."""
    page = browser.new_page()
    before, processor = time.perf_counter(), processor_seconds()
    page.goto(site)
    page.wait_for_selector("button.token")
    words = time.perf_counter() - before
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    ready = time.perf_counter() - before
    used = processor_seconds() - processor
    page.close()
    return words, ready, used


def processor_seconds() -> float:
    """CPU seconds that this process and all its descendants have used so far, read from Linux's /proc."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # the process has ended
            fields = file.read_text().rpartition(")")[2].split()
            process = int(file.parent.name)
            parents[process] = int(fields[1])
            seconds[process] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return sum(used for process, used in seconds.items() if os.getpid() in _ancestors(process, parents))


def _ancestors(process: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while process in parents and process not in found:
        found.add(process)
        process = parents[process]
    return found


def take_pictures(browser: Browser, site: str, name: str, folder: Path) -> None:
    """Take screenshots of the contexts view and the map view in their initial state."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(site)
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    for view in ("contexts", "map"):
        page.click(f"#tab-{view}")
        page.wait_for_selector("#panel:not([aria-busy])")
        page.wait_for_timeout(500)  # until it has faded in
        page.screenshot(path=folder / f"explorer-{name}-{view}.png")
    page.close()


if __name__ == "__main__":
    main()
