"""Inference on a whole image, through the post-processing of the product. Requires no torch."""

import numpy

from detector import classes
from detector.inference import detect

OTHERS = len(classes.NAMES) - 1


def cell(*box_and_score):
    return [*box_and_score, *([0] * OTHERS)]


class Model:
    """Returns the same cells for each input and records the sizes of the inputs."""

    def __init__(self, *cells):
        self.cells, self.sizes = numpy.array(cells, numpy.float32).T, []

    def __call__(self, pixels):
        self.sizes.append(pixels.shape[2:])
        return self.cells[None]


def test_an_image_is_processed_at_full_size_up_to_a_limit(processor):
    model, pixels = Model(cell(20, 10, 8, 4, 0.9)), numpy.zeros((100, 200, 3), numpy.uint8)
    whole = detect(model, processor, pixels, 0.5)
    halved = detect(model, processor, pixels, 0.5, max_pixels=5_000)
    assert model.sizes == [(128, 224), (64, 128)]
    assert whole.boxes.tolist() == [[16, 8, 24, 12]]
    assert halved.boxes.tolist() == [[32, 16, 48, 24]]


def test_smaller_scales_contribute_only_large_elements(processor):
    model, pixels = Model(cell(20, 10, 8, 4, 0.9), cell(400, 200, 300, 50, 0.8)), numpy.zeros((640, 1280, 3), numpy.uint8)
    found = detect(model, processor, pixels, 0.5)
    assert model.sizes == [(640, 1280), (320, 640), (160, 320)]
    assert found.boxes.tolist() == [[16, 8, 24, 12], [250, 175, 550, 225], [500, 350, 1100, 450]]


def test_without_a_declared_size_there_is_one_pass(processor):
    model = Model(cell(400, 200, 300, 50, 0.8))
    found = detect(model, processor, numpy.zeros((640, 1280, 3), numpy.uint8), 0.5, large_from=None)
    assert model.sizes == [(640, 1280)] and found.boxes.tolist() == [[250, 175, 550, 225]]
