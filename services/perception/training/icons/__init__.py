"""Names for icons without text: data, training, evaluation and export."""
