import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))


@pytest.fixture(scope="session")
def processor():
    from detector.postprocess import PostProcessor

    with PostProcessor() as running:
        yield running
