"""Build hook that generates the stubs before the package is built, if the contract is available."""

import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))


class GenerateStubs(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        import generate

        # A source distribution has the stubs, but not the contract.
        if generate.CONTRACTS.is_dir():
            generate.generate()
