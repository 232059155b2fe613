import argparse
import copy
from dataclasses import replace

import numpy
import pytest
import torch

from detector import classes, evaluate, metrics, models, weight_average, weights
from detector.inference import LARGE
from detector.loader import Groups, Plan, groups
from detector.loader import weights as chances
from detector.network import Exported, Network
from detector.postprocess import PostProcessor
from detector.train import WARM_UP_IMAGES, Progress, Training, after, begins_to_finish, images_per_group, is_finished, mixed, share_of_rate, train
from tests.synthetic_screens import draw, some

TINY = (16, 24, 32, 32)
PLAN = Plan(seed=7, batch=4, images=4, samples=2, shapes=((128, 128), (96, 160)))


@pytest.fixture(autouse=True)
def repeatable():
    torch.manual_seed(3)
    # One thread: tests also run on machines that are busy.
    torch.set_num_threads(1)


def tiny() -> Network:
    return Network(len(classes.NAMES), TINY, head=16)


def drawn(folder, count=4):
    random = numpy.random.default_rng(11)
    return draw(folder, [some(random, 7, 256) for _ in range(count)])


def test_tiny_network_overfits_four_screens(tmp_path):
    read = drawn(tmp_path)
    training = Training(tiny(), seed=1, rate=5e-3)
    training.progress.images = WARM_UP_IMAGES
    plan = Plan(seed=1, batch=4, images=4, samples=4, shapes=((192, 192),), spoilt=False)
    dataset = Groups(read, plan)
    losses = []
    for number in range(75):
        training.progress.images = max(training.progress.images, 8_000)
        losses += [training.step(batch)["loss"] for batch in dataset[number]]
    assert numpy.mean(losses[-10:]) < 0.4 * numpy.mean(losses[:10])
    with PostProcessor() as processor:
        judged = evaluate.judge(evaluate.see(models.from_network(training.mean), processor, read, 10**7, LARGE), 0.3)
    learnt = [metrics.of_class(judged, kind, 0.3) for kind in range(len(classes.NAMES))]
    assert numpy.mean([one.average_precision for one in learnt if one.elements]) > 0.8
    figures = evaluate.report(judged, 0.3)
    assert figures["all"]["recall"] > 0.9 and "AP50" in evaluate.as_text(figures)


def test_groups_do_not_depend_on_the_worker_process(tmp_path):
    read = drawn(tmp_path)
    here = Groups(read, PLAN)[2]
    elsewhere = next(groups(read, PLAN, first=2, workers=1))
    assert len(here) == len(elsewhere) == PLAN.batches
    for one, other in zip(here, elsewhere):
        assert torch.equal(one.pixels, other.pixels)
        assert torch.equal(one.truth.boxes, other.truth.boxes) and torch.equal(one.truth.classes, other.truth.classes)


def test_every_screen_is_used_before_any_repeats(tmp_path):
    dataset = Groups(drawn(tmp_path, 5), PLAN)
    assert sorted(dataset.screen_index(number) for number in range(5)) == [0, 1, 2, 3, 4]
    assert sorted(dataset.screen_index(number) for number in range(5, 10)) == [0, 1, 2, 3, 4]


def test_batch_boxes_lie_on_their_elements(tmp_path):
    read = drawn(tmp_path)
    plan = Plan(seed=2, batch=4, images=4, samples=2, shapes=((160, 160),), spoilt=False)
    from tests.synthetic_screens import COLOURS, kind

    by_kind = {kind(name): colour for name, colour in COLOURS.items()}
    checked = 0
    for batch in Groups(read, plan)[0]:
        for box, class_, image_index in zip(batch.truth.boxes, batch.truth.classes, batch.truth.image_indices):
            x, y = ((box[:2] + box[2:]) / 2).int().tolist()
            assert batch.pixels[image_index, y, x].tolist() == pytest.approx(by_kind[int(class_)], abs=12)
            checked += 1
    assert checked > 20


def test_rare_classes_are_sampled_more_often(tmp_path):
    button, icon = ("button", (0, 0, 30, 20)), ("icon", (100, 100, 120, 120))
    by_class = chances(draw(tmp_path, [[button] * 24 + [icon]]))
    assert by_class[classes.INDEX["icon"]] > 3 * by_class[classes.INDEX["button"]]


def test_resuming_from_a_checkpoint_repeats_the_same_steps(tmp_path):
    dataset = Groups(drawn(tmp_path), PLAN)
    straight = Training(tiny(), seed=1)
    for number in range(2):
        for batch in dataset[number]:
            straight.step(batch)
    weights.write(straight.record(), tmp_path / "checkpoint.pt")
    resumed = Training.from_record(torch.load(tmp_path / "checkpoint.pt", weights_only=True))
    for training in (straight, resumed):
        for number in range(2, 4):
            for batch in dataset[number]:
                training.step(batch)
    assert resumed.progress == straight.progress
    for name, value in straight.mean.state_dict().items():
        assert torch.equal(value, resumed.mean.state_dict()[name]), name


def test_run_stops_in_time_with_consistent_progress(tmp_path):
    drawn(tmp_path / "train")
    arguments = argparse.Namespace(screens=tmp_path, run=tmp_path, minutes=0.05, finish=0, workers=0, applications=None, share=0.3)
    training = Training(tiny(), seed=1)
    train(training, PLAN, arguments)
    assert training.progress.images == training.progress.group * PLAN.images * PLAN.samples > 0


def test_learning_rate_rises_stays_and_falls_at_the_end():
    assert share_of_rate(Progress(images=0)) < share_of_rate(Progress(images=WARM_UP_IMAGES // 2)) < share_of_rate(Progress(images=WARM_UP_IMAGES))
    assert share_of_rate(Progress(images=WARM_UP_IMAGES)) == share_of_rate(Progress(images=800_000))
    ending = [Progress(images=images, finish_from=10_000, finish_images=1_000) for images in (10_000, 10_250, 11_000)]
    assert share_of_rate(ending[0]) > share_of_rate(ending[1]) > share_of_rate(ending[2]) == 0
    assert [is_finished(one) for one in ending] == [False, False, True]


def test_training_from_weights_uses_new_samples_and_warm_up(tmp_path):
    progress = after({"images": 60_224, "screens": {"seed 1": 4_416}})
    assert progress.images == 60_224
    assert progress.group * 64 >= 60_224
    assert share_of_rate(progress) < 0.1
    drawn(tmp_path / "train", 3)
    training = Training(tiny(), seed=1, progress=progress)
    train(training, PLAN, argparse.Namespace(screens=tmp_path, run=tmp_path, minutes=0.01, finish=0, workers=0, applications=None, share=0.3))
    assert sum(training.progress.screens.values()) == 4_416 + 3


def test_finish_begins_when_just_enough_time_remains():
    assert not begins_to_finish(Progress(group=5), 0, 10)
    assert not begins_to_finish(Progress(group=5), 1_000, 1_001)
    assert begins_to_finish(Progress(group=5), 1_000, 999)
    assert not begins_to_finish(Progress(group=5, finish_from=3, finish_images=1_000), 1_000, 999)


def test_half_precision_weights_give_the_same_scores(tmp_path):
    network = tiny()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    weights.save(network, tmp_path / "weights.pt", {"images": 5})
    again, about = weights.load(tmp_path / "weights.pt")
    image = torch.rand(1, 3, 64, 96)
    with torch.inference_mode():
        one, other = Exported(network.eval())(image), Exported(again)(image)
    assert about["images"] == 5
    assert torch.allclose(one[:, 4:], other[:, 4:], atol=0.02)


def test_weight_average_interpolates_two_networks(tmp_path):
    before, after_it = tiny().eval(), tiny().eval()
    kernel = "down4.0.weight"
    first, second = before.state_dict()[kernel], after_it.state_dict()[kernel]
    assert torch.allclose(weight_average.average(before, after_it, 0.75).state_dict()[kernel], 0.25 * first + 0.75 * second)
    assert torch.equal(weight_average.average(before, after_it, 0.0).state_dict()[kernel], first)
    with pytest.raises(ValueError, match="different sizes"):
        weight_average.average(before, Network(len(classes.NAMES), (16, 24, 32, 40), head=16), 0.5)
    after_it.down4[1].running_mean += 1
    with pytest.raises(ValueError, match="--keep-norms"):
        weight_average.average(before, after_it, 0.5)
    norm = "down4.1.running_mean"
    assert torch.allclose(weight_average.average(before, after_it, 0.25, norms_too=True).state_dict()[norm], torch.tensor(0.25))


def test_group_size_fills_whole_batches():
    for batch in (8, 16, 64, 128):
        assert Plan(seed=1, batch=batch, images=images_per_group(batch)).batches >= 1
    with pytest.raises(ValueError, match="do not fill whole batches of 48"):
        Plan(seed=1, batch=48)


def test_weight_average_describes_its_sources():
    about = weight_average.describe({"images": 200_000, "screens": {}}, {"images": 300_000, "screens": {"seed 1": 4}, "finished": True}, 0.6)
    assert about["images"] == 300_000 and about["screens"] == {"seed 1": 4}
    assert about["mean"] == "0.60 of these weights, 0.40 of those after 200,000 samples"


def test_visits_of_another_seed_are_another_source(tmp_path):
    drawn_ = drawn(tmp_path, count=1)[0]
    sources = {replace(drawn_, about={"seed": seed, "toolkit": "gtk"}).source for seed in ("1/gedit/0", "1/gedit/1", "2/gedit/0")}
    assert sources == {"applications 1", "applications 2"}
    assert replace(drawn_, about={"seed": "1/train/7"}).source == "seed 1"


def test_application_screenshots_have_the_requested_share():
    assert mixed(["drawn"] * 70, ["real"] * 10, 0.3) == ["drawn"] * 70 + ["real"] * 30
    assert mixed(["drawn"] * 70, [], 0.3) == ["drawn"] * 70
    assert mixed(["drawn"], ["real"] * 10, 0.3).count("real") == 10


def test_frozen_norms_stay_unchanged_after_a_resume(tmp_path):
    read = drawn(tmp_path)
    training = Training(tiny(), seed=1)
    training.keep_norms()
    before = training.network.down4[1].running_mean.clone()
    again = Training.from_record(training.record())
    for one in (training, again):
        one.step(Groups(read, PLAN)[0][0])
        assert torch.equal(one.network.down4[1].running_mean, before)


def test_frozen_front_stays_unchanged_after_a_resume(tmp_path):
    read = drawn(tmp_path)
    training = Training(tiny(), seed=1, keeps_front=True)
    before = copy.deepcopy(training.network.state_dict())
    for one in (training, Training.from_record(training.record())):
        one.step(Groups(read, PLAN)[0][0])
        moved = {name.split(".")[0] for name, value in one.network.state_dict().items() if not torch.equal(value, before[name])}
        assert moved == {name.split(".")[0] for name in before} - {"down4", "down8"}
