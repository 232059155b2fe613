"""A detector of controls on pictures of screens: training, evaluation and export."""
