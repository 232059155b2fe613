import cv2
import numpy
import pytest

from detector import samples
from detector.loader import SHAPES
from tests.synthetic_screens import draw, some


def spans(pixels, colour):
    """Bounding box of all pixels of a colour."""
    y, x = numpy.nonzero((pixels == colour).all(2))
    return [x.min(), y.min(), x.max() + 1, y.max() + 1]


def scene(box, size=(600, 900)):
    pixels = numpy.full((*size, 3), 200, numpy.uint8)
    x1, y1, x2, y2 = box
    pixels[y1:y2, x1:x2] = (255, 0, 0)
    return pixels, numpy.array([box], numpy.float32), numpy.ones(1, numpy.float32)


@pytest.mark.parametrize("box", [(100, 50, 140, 80), (300, 200, 700, 220)])
@pytest.mark.parametrize(
    "place, exact",
    [
        (samples.RegionMapping(40, 20, 640, 320, (0, 0), (640, 320)), True),
        (samples.RegionMapping(90, 40, 320, 160, (0, 0), (640, 320)), True),
        (samples.RegionMapping(0, 0, 900, 600, (10, 15), (450, 300)), True),
        (samples.RegionMapping(33, 17, 411, 207, (0, 0), (640, 320)), False),
    ],
)
def test_boxes_are_where_the_pixels_are(box, place, exact):
    pixels, boxes, visible = scene(box)
    sample = samples.cut(pixels, boxes, visible, place, (320, 640), cv2.INTER_NEAREST)
    if len(sample.boxes) == 0:
        assert box[2] > place.left + place.width
        return
    error = numpy.abs(sample.boxes[0] - spans(sample.pixels, (255, 0, 0)))
    assert error.max() <= (0 if exact else 1)


def test_elements_cut_off_too_far_are_dropped():
    pixels, boxes, visible = scene((100, 100, 200, 200))
    for left, kept in [(160, True), (166, False)]:
        place = samples.RegionMapping(left, 0, 320, 320, (0, 0), (320, 320))
        assert (len(samples.cut(pixels, boxes, visible, place, (320, 320), 0).boxes) == 1) is kept
    half_covered = numpy.array([0.6], numpy.float32)
    place = samples.RegionMapping(150, 0, 320, 320, (0, 0), (320, 320))
    assert len(samples.cut(pixels, boxes, half_covered, place, (320, 320), 0).boxes) == 0


def test_elements_scaled_too_small_are_dropped():
    pixels, boxes, visible = scene((100, 100, 105, 140))
    place = samples.RegionMapping(0, 0, 640, 600, (0, 0), (320, 300))
    assert len(samples.cut(pixels, boxes, visible, place, (320, 320), 0).boxes) == 0


@pytest.mark.parametrize("size", sorted(set(SHAPES)))
def test_crops_fit_and_contain_their_target(size):
    random = numpy.random.default_rng(1)
    towards = numpy.array([700, 30, 760, 60], numpy.float32)
    for screen in [(600, 800), (1080, 1920), (2160, 3840)]:
        for _ in range(50):
            place = samples.random_place(random, screen, size, towards)
            assert 0 <= place.left and place.left + place.width <= screen[1]
            assert 0 <= place.top and place.top + place.height <= screen[0]
            assert place.at[0] + place.to[0] <= size[1] and place.at[1] + place.to[1] <= size[0]
            assert place.left <= 730 <= place.left + place.width and place.top <= 45 <= place.top + place.height
            assert 0.29 <= place.to[0] / place.width <= 2.1


def test_a_share_of_samples_shows_the_whole_width():
    random = numpy.random.default_rng(2)
    places = [samples.random_place(random, (1080, 1920), (640, 640), None) for _ in range(400)]
    whole = [place for place in places if place.width >= 1920 / samples.NEARER]
    assert 0.12 <= len(whole) / len(places) <= 0.28


def test_recolouring_changes_colours_but_not_the_size(tmp_path):
    screen = draw(tmp_path, [some(numpy.random.default_rng(3), 6, 256)])[0]
    random = numpy.random.default_rng(5)
    pixels = screen.pixels()
    changed = [samples.recoloured(random, pixels) for _ in range(20)]
    assert all(one.shape == pixels.shape and one.dtype == numpy.uint8 for one in changed)
    assert sum(not numpy.array_equal(one, pixels) for one in changed) >= 5
