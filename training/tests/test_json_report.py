"""Missing metrics survive a JSON file that any reader accepts."""

import json
import math

import pytest

from detector import json_report


def test_nan_is_written_as_null(tmp_path):
    path = tmp_path / "metrics.json"
    json_report.write(path, {"recall": math.nan, "classes": {"tab": [0.5, math.nan]}, "name": "test"})
    assert json.loads(path.read_text()) == {"recall": None, "classes": {"tab": [0.5, None]}, "name": "test"}
    read = json_report.read(path)
    assert math.isnan(read["recall"]) and math.isnan(read["classes"]["tab"][1]) and read["name"] == "test"


def test_infinity_is_refused(tmp_path):
    with pytest.raises(ValueError):
        json_report.write(tmp_path / "metrics.json", {"recall": math.inf})
