"""Missing metrics survive a JSON file that any reader accepts."""

import json
import math

import pytest

from detector import figures


def test_what_is_no_number_is_null_in_the_file(tmp_path):
    path = tmp_path / "metrics.json"
    figures.write(path, {"recall": math.nan, "classes": {"tab": [0.5, math.nan]}, "name": "test"})
    assert json.loads(path.read_text()) == {"recall": None, "classes": {"tab": [0.5, None]}, "name": "test"}
    read = figures.read(path)
    assert math.isnan(read["recall"]) and math.isnan(read["classes"]["tab"][1]) and read["name"] == "test"


def test_what_is_endless_is_refused(tmp_path):
    with pytest.raises(ValueError):
        figures.write(tmp_path / "metrics.json", {"recall": math.inf})
