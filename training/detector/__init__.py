"""UI detector: training, evaluation and export."""
