"""Lee & Choi, Tree-Guided MCMC Inference for Normalized Random Measure Mixture Models (NIPS 2015): section 4, run again."""
