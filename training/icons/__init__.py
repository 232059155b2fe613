"""Icon names and control states: data, training, evaluation and export."""
