import numpy
import pytest
import torch

from detector import boxes, network
from detector.inference import GRID
from detector.loss import generalised_overlap


@pytest.mark.parametrize("stride", network.STRIDES)
def test_box_encoding_round_trips(stride):
    middles = network.middles_of(3, 4, stride)
    random = torch.Generator().manual_seed(1)
    true = torch.cat((middles - torch.rand(12, 2, generator=random) * 900, middles + torch.rand(12, 2, generator=random) * 900), 1)
    true = torch.minimum(torch.maximum(true, middles.repeat(1, 2) - 200 * stride), middles.repeat(1, 2) + 200 * stride)
    again = network.boxes_of(network.logarithms_of(true, middles, stride), middles, stride)
    assert torch.allclose(again, true, atol=0.02)


def test_box_smaller_than_a_cell_round_trips():
    middles = network.middles_of(1, 1, 8)
    tiny = torch.tensor([[0.5, 5.0, 3.5, 7.5]])
    assert torch.allclose(network.boxes_of(network.logarithms_of(tiny, middles, 8), middles, 8), tiny, atol=1e-4)


def test_overlaps_of_known_boxes():
    a = numpy.array([[0.0, 0.0, 10.0, 10.0]])
    b = numpy.array([[0.0, 0.0, 10.0, 10.0], [5.0, 0.0, 15.0, 10.0], [20.0, 20.0, 30.0, 30.0]])
    assert boxes.overlaps(a, b)[0] == pytest.approx([1, 1 / 3, 0])
    overlap, generalised = generalised_overlap(torch.tensor(a), torch.tensor(b))
    assert overlap.tolist() == pytest.approx([1, 1 / 3, 0])
    # For distant boxes GIoU still measures the distance: the enclosing box has 900 pixels, 200 of them in either box.
    assert generalised.tolist() == pytest.approx([1, 1 / 3, -700 / 900])


def test_the_input_grid_is_the_coarsest_stride():
    assert max(network.STRIDES) == GRID
