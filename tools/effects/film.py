"""One screen recording: its clips, their ground truth, and its files.

Records the clips, queries an independent witness before and after each one,
drops clips without the intended outcome, and writes the animated image with
its labels. Pixels are only used to suggest clips for manual review; they never
create or change a label.
"""

import json
import random
import time
from dataclasses import dataclass, field

import numpy
from PIL import Image

from stage import HEIGHT, WIDTH, milliseconds, unfold

BASELINE_SECONDS = 2.1
AFTERMATH_SECONDS = 1.8
MAX_GAP_MS = 250


@dataclass
class Clip:
    what: str
    kind: str
    effect: bool
    truth: str
    prepare: object = None
    target: object = None
    at: object = None
    text: str = None
    keys: str = None
    notches: int = None
    to: object = None
    probe: object = None
    check: object = None
    moves: tuple = ()
    park: object = "film"


@dataclass
class Take:
    clip: Clip
    target: list
    at: list
    to: list
    titles: tuple
    frames: list
    samples: list
    acted: float
    ended: float
    moving: list = field(default_factory=list)
    hidden: list = field(default_factory=list)
    notes: list = field(default_factory=list)


def resolved(value):
    return value() if callable(value) else value


def centre(box):
    return [(box[0] + box[2]) // 2, (box[1] + box[3]) // 2]


def image_of(words):
    bytes_of = numpy.empty((HEIGHT, WIDTH, 3), dtype=numpy.uint8)
    bytes_of[..., 0] = (words >> 16) & 255
    bytes_of[..., 1] = (words >> 8) & 255
    bytes_of[..., 2] = words & 255
    return bytes_of


class Strip:
    """Passes frames to the encoder one at a time, so that a recording does not have to fit in memory."""

    mode = "RGB"

    def __init__(self, frames):
        self.n_frames = len(frames) - 1
        self.source = unfold(frames)
        next(self.source)
        self.image = None

    def seek(self, _):
        self.image = Image.fromarray(image_of(next(self.source)[1]))

    def getim(self):
        return self.image.getim()


class Film:
    def __init__(self, name, seed, stage, witness, application, park, movers=()):
        self.name, self.stage, self.witness = name, stage, witness
        self.application, self.park, self.movers = application, park, list(movers)
        self.chooser = random.Random(f"{seed}/{name}/clips")
        self.takes, self.dropped, self.tried = [], [], 0
        self.moving_boxes = list
        self.hidden_movers = list

    def state(self, clip):
        return {"windows": self.stage.windows.state(), "witness": self.witness(), "probe": resolved(clip.probe)}

    def perform(self, clip, at, to):
        hand = self.stage.hand
        if clip.kind == "click":
            hand.click(at)
        elif clip.kind == "double_click":
            hand.click(at, times=2)
        elif clip.kind == "right_click":
            hand.click(at, button=3)
        elif clip.kind == "type_text":
            hand.type(clip.text)
        elif clip.kind == "key":
            hand.keys(clip.keys)
        elif clip.kind == "scroll":
            hand.scroll(at, clip.notches)
        elif clip.kind == "drag":
            hand.drag(at, to)
        elif clip.kind == "move":
            hand.move(at)

    def record(self, clip, attempts=3):
        """Records one clip; repeats it if a busy machine caused a gap between the samples."""
        stage = self.stage
        self.tried += attempts == 3
        park = self.park if clip.park == "film" else clip.park
        if park is not None:
            stage.hand.move(park)
        if clip.prepare:
            clip.prepare()
        park = resolved(park)
        if park is not None:
            stage.hand.move(park)
        restless = bool(self.movers or clip.moves)
        stage.settle(still_needed=not restless)
        target = resolved(clip.target)
        at = resolved(clip.at) or (centre(target) if target and clip.kind not in ("key", "type_text") else None)
        to = resolved(clip.to)
        moving, hidden = self.moving_boxes(), self.hidden_movers()
        before = self.state(clip)
        stage.camera.start()
        time.sleep(BASELINE_SECONDS + self.chooser.random() * 0.4)
        title_before = stage.windows.title()
        with stage.camera.gate:
            acted = milliseconds()
        self.perform(clip, at, to)
        time.sleep(AFTERMATH_SECONDS + self.chooser.random() * 0.3)
        title_after = stage.windows.title()
        frames, samples = stage.camera.stop()
        ended = milliseconds()
        after = self.state(clip)
        take = Take(clip, target, at, to, (title_before, title_after), frames, samples, acted, ended, moving, hidden)
        reason = self.refusal(clip, before, after)
        if reason:
            self.dropped.append({"film": self.name, "try": self.tried, "what": clip.what, "had_effect": clip.effect, "reason": reason})
            return
        if attempts > 1 and numpy.diff(samples).max(initial=0) > MAX_GAP_MS:
            self.record(clip, attempts - 1)
            return
        self.inspect(take)
        self.takes.append(take)

    def refusal(self, clip, before, after):
        if not clip.effect:
            for part in ("windows", "witness", "probe"):
                if before[part] != after[part]:
                    return f"the witness saw a change: {difference(before[part], after[part])}"
            return None
        if before == after:
            return f"the witness saw no change, probe {str(before['probe'])[:80]}"
        if clip.check and not clip.check(before, after):
            return f"the change was not the intended one: probe {str(before['probe'])[:80]} -> {str(after['probe'])[:80]}"
        return None

    def inspect(self, take):
        """Adds notes on pixel changes for manual review; never used as a label."""
        touched, first, last = numpy.zeros((HEIGHT, WIDTH), bool), None, None
        changed_after = numpy.zeros((HEIGHT, WIDTH), bool)
        previous = None
        for taken, canvas in unfold(take.frames):
            if previous is not None:
                (touched if taken < take.acted else changed_after).__ior__(canvas != previous)
            if taken < take.acted:
                first = canvas.copy()
            previous = canvas.copy()
        for left, top, right, bottom in take.moving:
            touched[max(0, top):bottom, max(0, left):right] = True
        grown = grow(touched)
        outside = int((changed_after & ~grown).sum())
        net = int(((previous != first) & ~grown).sum())
        restless = bool(self.movers or take.clip.moves)
        if not restless and not take.moving and touched.any():
            take.notes.append(f"moved before the action in {int(touched.sum())} pixels")
        if take.clip.effect and outside == 0:
            take.notes.append(f"effect, but no pixel changed outside what moved before; inside {int(changed_after.sum())}")
        if not take.clip.effect and outside:
            take.notes.append(f"no effect, but {outside} pixels changed outside what moved before ({net} of them for good)")
        if numpy.diff(take.samples).max(initial=0) > MAX_GAP_MS:
            take.notes.append(f"longest gap between samples {int(numpy.diff(take.samples).max())} ms")

    def write(self, folder):
        frames, labels, clock = [], [], 0.0
        for number, take in enumerate(self.takes, 1):
            start = take.frames[0][0]
            for taken, top, rows in take.frames:
                frames.append((clock + taken - start, top, rows))
            labels.append(self.label(number, take, clock, start))
            clock += take.ended - start
        frames = merged(frames)
        times = [round(taken) for taken, _, _ in frames]
        durations = [after - before for before, after in zip(times, times[1:] + [round(clock)])]
        path = folder / f"{self.name}.webp"
        first = Image.fromarray(image_of(next(unfold(frames))[1]))
        first.save(path, save_all=True, append_images=[Strip(frames)], duration=durations, lossless=True,
                   quality=80, method=4, minimize_size=False, allow_mixed=False, kmax=0)
        verify(path, frames, durations)
        text = {"film": path.name, "application": self.application, "size": [WIDTH, HEIGHT], "clips": labels}
        path.with_suffix(".json").write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n")
        return path.stat().st_size

    def label(self, number, take, clock, start):
        clip = take.clip
        action = {"kind": clip.kind, "at": take.at}
        for key, value in (("text", clip.text), ("keys", clip.keys), ("notches", clip.notches), ("to", take.to)):
            if value is not None:
                action[key] = value
        return {"id": f"{self.name}-{number:03d}", "what": clip.what, "started_ms": round(clock),
                "acted_ms": round(clock + take.acted - start), "ended_ms": round(clock + take.ended - start),
                "action": action, "target": take.target, "title_before": take.titles[0], "title_after": take.titles[1],
                "had_effect": clip.effect, "moves_anyway": sorted((set(self.movers) | set(clip.moves)) - set(take.hidden)), "truth": clip.truth}

    def report(self):
        return {"film": self.name, "kept": len(self.takes), "dropped": self.dropped,
                "look_at": [{"id": f"{self.name}-{number:03d}", "what": take.clip.what, "notes": take.notes}
                            for number, take in enumerate(self.takes, 1) if take.notes]}


def difference(before, after):
    if isinstance(before, dict) and isinstance(after, dict):
        return "; ".join(f"{key}: {difference(before.get(key), after.get(key))}"
                         for key in {**before, **after} if before.get(key) != after.get(key))[:300]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return "; ".join(difference(old, new) for old, new in zip(before, after) if old != new)[:300]
    old, new = str(before), str(after)
    common = 0
    while common < min(len(old), len(new)) and old[common] == new[common]:
        common += 1
    return f"{old[max(0, common - 20):common + 60]} -> {new[max(0, common - 20):common + 60]}"


def grow(mask, reach=8):
    """Dilates a mask by a few pixels, because a moving element reaches beyond its last position."""
    grown = mask.copy()
    for shift in range(1, reach + 1):
        grown[:, shift:] |= mask[:, :-shift]
        grown[:, :-shift] |= mask[:, shift:]
    tall = grown.copy()
    for shift in range(1, reach + 1):
        tall[shift:] |= grown[:-shift]
        tall[:-shift] |= grown[shift:]
    return tall


def merged(frames):
    """Removes frames that repeat the previous one or share its millisecond."""
    kept, previous = [], None
    for taken, canvas in unfold(frames):
        if previous is not None:
            rows = numpy.flatnonzero((canvas != previous).any(axis=1))
            if not rows.size:
                continue
            top, bottom = int(rows[0]), int(rows[-1]) + 1
            moment = max(taken, round(kept[-1][0]) + 1)
            kept.append((moment, top, canvas[top:bottom].copy()))
        else:
            kept.append((taken, 0, canvas.copy()))
        previous = canvas.copy()
    return kept


def verify(path, frames, durations):
    film = Image.open(path)
    if film.n_frames != len(frames):
        raise RuntimeError(f"{path.name}: {film.n_frames} frames instead of {len(frames)}")
    for index, (_, canvas) in enumerate(unfold(frames)):
        film.seek(index)
        film.load()
        if not numpy.array_equal(numpy.asarray(film.convert("RGB")), image_of(canvas)):
            raise RuntimeError(f"{path.name}: frame {index} differs from the captured one")
        if film.info["duration"] != durations[index]:
            raise RuntimeError(f"{path.name}: frame {index} lasts {film.info['duration']} instead of {durations[index]}")
