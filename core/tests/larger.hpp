// The larger of differences, where one that is not a number counts as infinite: std::max would pass it over.
#pragma once

#include <cmath>
#include <limits>

inline double larger(double worst, double difference) {
  if (std::isnan(worst) || std::isnan(difference)) return std::numeric_limits<double>::infinity();
  return worst < difference ? difference : worst;
}

template <class... More>
double larger(double worst, double difference, More... more) {
  return larger(larger(worst, difference), more...);
}
