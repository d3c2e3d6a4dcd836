"""The two papers behind Hedgerow, run again: `python -m papers.nips2015`, `python -m papers.aistats2014`."""
