"""Lee & Choi, Incremental Tree-Based Inference with Dependent Normalized Random Measures (AISTATS 2014): section 4, run again."""
