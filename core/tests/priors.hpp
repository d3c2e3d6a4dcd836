// The prior that most of these tests run under: a generalized gamma measure whose α and σ are drawn.
#pragma once

#include "hedgerow/measure.hpp"

inline hedgerow::Prior sampled_prior() {
  hedgerow::Prior prior;
  prior.kind = hedgerow::PriorKind::nrm;
  prior.sigma = 0.3;
  prior.alpha_law = hedgerow::Law{1.0, 1.0};
  prior.sigma_law = hedgerow::Law{1.0, 2.0};
  return prior;
}
