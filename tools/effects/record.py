"""Records labelled screen recordings of real programs on private displays.

Every recording is a lossless animated image with a file of labels: the time of
each input, and whether it had an effect according to a witness that sees no
pixels. The choice of actions depends only on --seed. It does not judge effects
and uses only displays that it starts.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import films_browser
import films_desktop
import films_tabs

HERE = Path(__file__).resolve().parent


def makers():
    table = {name: films_browser.page_film for name in films_browser.PAGES}
    table.update({name: films_tabs.film for name in films_tabs.NAMES})
    table.update(films_desktop.MAKERS)
    return table


def record(name, seed, output, limit):
    chooser = random.Random(f"{seed}/{name}")
    with tempfile.TemporaryDirectory(prefix="film-", ignore_cleanup_errors=True) as folder:
        film, clips, finish = makers()[name](name, seed, folder, HERE / "pages", chooser)
        try:
            for clip in clips[:limit]:
                try:
                    film.record(clip)
                except Exception as error:
                    traceback.print_exc()
                    film.dropped.append({"film": name, "what": clip.what, "had_effect": clip.effect, "reason": f"failed: {error}"[:200]})
                    if film.stage.camera.running:
                        film.stage.camera.stop()
        finally:
            finish()
        size = film.write(output)
    report = film.report()
    (output / f"{name}.report").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    print(f"{name}: {report['kept']} kept, {len(report['dropped'])} dropped, {len(report['look_at'])} to look at, {size} bytes", flush=True)


def record_apart(name, options):
    command = [sys.executable, __file__, "--seed", str(options.seed), "--out", str(options.out), "--only", name, "--limit", str(options.limit)]
    for _ in range(2):
        if subprocess.run(command).returncode == 0:
            return
        time.sleep(1)
    print(f"{name}: could not be recorded", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE / "films")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="FILM")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=1000)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = options.only or list(makers())
    if len(names) == 1:
        record(names[0], options.seed, options.out, options.limit)
        return
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda name: record_apart(name, options), names))


if __name__ == "__main__":
    main()
