#!/usr/bin/env python3
"""Writes golden.tsv: model coordinates with their screen positions, computed independently of the program under test.

Uses integers and exact fractions only, except where a provider's own arithmetic is in floating point. One line for each
convention, screen and scale: the screen in points, the scale, the frame in pixels, the sent size, the size of the model's
coordinates, and for some points the model's coordinates, the frame pixel, and the input point.

    golden.py           write the table
    golden.py --check   fail if the table differs from what would be written
"""

import pathlib
import sys
from fractions import Fraction
from math import ceil, floor, sqrt

SCREENS = [(1024, 768), (1280, 720), (1280, 800), (1366, 768), (1440, 900), (1512, 982),
           (1600, 900), (1920, 1080), (1920, 1200), (2560, 1440), (2560, 1600), (3840, 2160)]
SCALES = [Fraction(1), Fraction(5, 4), Fraction(3, 2), Fraction(2)]
TABLE = pathlib.Path(__file__).with_name("golden.tsv")


def largest(width, height, fits):
    """Returns the widest (or highest) image of these proportions that fits, by trying every size from the largest on."""
    if fits(width, height):
        return width, height
    if height > width:
        turned_width, turned_height = largest(height, width, lambda a, b: fits(b, a))
        return turned_height, turned_width
    proportion = width / height
    for candidate in range(width - 1, 0, -1):
        other = max(1, round(candidate / proportion))
        if fits(candidate, other):
            return candidate, other
    return 1, 1


def claude(width, height, side, tokens):
    """Limits the number of 28-pixel squares, and each side in pixels after padding to whole squares."""
    def fits(a, b):
        columns, rows = ceil(Fraction(a, 28)), ceil(Fraction(b, 28))
        return columns * rows <= tokens and 28 * max(columns, rows) <= side
    return largest(width, height, fits)


def openai(width, height, side, patches):
    """Limits the number of 32-pixel squares, and each side in pixels."""
    def fits(a, b):
        return ceil(Fraction(a, 32)) * ceil(Fraction(b, 32)) <= patches and max(a, b) <= side
    return largest(width, height, fits)


def smart(width, height, factor, min_pixels, max_pixels):
    """Rounds both sides to multiples of the factor, then scales the image if its area is not allowed."""
    columns, rows = (max(1, round(Fraction(side, factor))) for side in (width, height))
    area = columns * rows * factor * factor
    if area > max_pixels:
        shrink = sqrt(width * height / max_pixels)
        columns, rows = (max(1, floor(side / shrink / factor)) for side in (width, height))
    elif area < min_pixels:
        grow = sqrt(min_pixels / (width * height))
        columns, rows = (ceil(side * grow / factor) for side in (width, height))
    return columns * factor, rows * factor


def as_it_is_or_smart(width, height, factor, min_pixels, max_pixels):
    """Returns the sent size if the provider always resizes: the frame, or the resized size if the frame is too large."""
    seen = smart(width, height, factor, min_pixels, max_pixels)
    return seen if width * height > max_pixels and seen[0] * seen[1] < width * height else (width, height)


QWEN_2_5 = (28, 3136, 12845056)
QWEN_2_5_SMALL = (28, 3136, 1003520)
QWEN_3 = (32, 65536, 13107200)

# Name; sent size; size of the model's coordinates; coordinate of a whole side, if it is not the number of pixels.
WAYS = [
    ("claude_standard", lambda w, h: claude(w, h, 1568, 1568), lambda w, h: (w, h), None),
    ("claude_high", lambda w, h: claude(w, h, 2576, 4784), lambda w, h: (w, h), None),
    ("openai_high", lambda w, h: openai(w, h, 2048, 2500), lambda w, h: (w, h), None),
    ("openai_original", lambda w, h: openai(w, h, 6000, 10000), lambda w, h: (w, h), None),
    ("qwen_2_5", lambda w, h: as_it_is_or_smart(w, h, *QWEN_2_5), lambda w, h: smart(w, h, *QWEN_2_5), None),
    ("qwen_2_5_small", lambda w, h: as_it_is_or_smart(w, h, *QWEN_2_5_SMALL),
     lambda w, h: smart(w, h, *QWEN_2_5_SMALL), None),
    ("thousandths", lambda w, h: as_it_is_or_smart(w, h, *QWEN_3), lambda w, h: (w, h), 1000),
    ("fractions", lambda w, h: (w, h), lambda w, h: (w, h), 1),
]


def model_point(index, width, height, unit):
    """Returns a point in the model's coordinates: the first corner, the middle, the last corner, two odd ones."""
    if unit == 1:
        return [("0", "0"), ("0.5", "0.5"), ("1", "1"), ("0.3141", "0.8725"), ("0.9071", "0.0625")][index]
    last_x, last_y = (unit, unit) if unit else (width - 1, height - 1)
    points = [(0, 0), (last_x // 2, last_y // 2), (last_x, last_y),
              (last_x * 311 // 1000, last_y * 877 // 1000), (last_x * 907 // 1000, last_y * 63 // 1000)]
    return tuple(str(value) for value in points[index])


def pixel(value, counted, side, unit):
    """Returns the frame pixel of a coordinate.

    A model pixel covers a strip of the side, and the middle of the strip selects the frame pixel. A fraction is a
    position on the side; the very end of the side belongs to the last pixel.
    """
    number = Fraction(value)
    place = number / unit * side if unit else (number + Fraction(1, 2)) / counted * side
    return min(floor(place), side - 1)


def lines():
    for name, send, count, unit in WAYS:
        for screen in SCREENS:
            for scale in SCALES:
                frame = tuple(int(side * scale) for side in screen)
                sent = send(*frame)
                counted = count(*sent)
                cells = [name, "%dx%d" % screen, "%g" % float(scale), "%dx%d" % frame, "%dx%d" % sent,
                         "%dx%d" % counted]
                for index in range(5):
                    x, y = model_point(index, *counted, unit)
                    across = pixel(x, counted[0], frame[0], unit)
                    down = pixel(y, counted[1], frame[1], unit)
                    inputs = ",".join("%.6f" % float(value / scale) for value in (across, down))
                    cells.append(f"{x},{y}>{across},{down}>{inputs}")
                yield "\t".join(cells)


def main():
    text = "".join(line + "\n" for line in lines())
    if sys.argv[1:] == ["--check"]:
        if TABLE.read_text() != text:
            sys.exit(f"{TABLE.name} is not what {pathlib.Path(__file__).name} writes")
    else:
        TABLE.write_text(text)


if __name__ == "__main__":
    main()
