"""Lets building the package generate its stubs first, wherever the contracts are at hand."""

import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))


class GenerateStubs(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        import generate

        # A source distribution holds the stubs, and not the contracts.
        if generate.CONTRACTS.is_dir():
            generate.generate()
