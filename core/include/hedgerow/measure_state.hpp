// What a prior asks for and what of it changes: start values, laws, and the state of a measure by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hedgerow {

class ClosedForm;

struct Law {
  double a, b;  // Gamma(shape a, rate b) or Beta(a, b)
};

// dp integrates u out of every formula, nrm keeps it, closed has formulas of its own (closed_form.hpp).
enum class PriorKind { dp, nrm, closed };

// What the user asked for; frozen.
struct Prior {
  PriorKind kind = PriorKind::dp;
  const ClosedForm* form = nullptr;
  double alpha = 1.0, sigma = 0.0, tau = 1.0;
  std::optional<Law> alpha_law, sigma_law, tau_law;
  // Hyper-parameters that only some closed forms have, by name: Python lists them, and every state has all of them.
  struct Own {
    std::string name;
    double value;
    std::optional<Law> law;
  };
  std::vector<Own> own;
  int groups = 1, bases = 1;
  std::vector<double> q;  // groups × bases, empty means 1

  // nullptr for a name there is not, and where the value is fixed.
  const Law* own_law(std::string_view name) const {
    for (const Own& one : own)
      if (one.name == name) return one.law ? &*one.law : nullptr;
    return nullptr;
  }
};

// What the updates of a measure change. Everything that copies, binds or stores a state goes by this list of names.
struct MeasureState {
  std::vector<double> log_u;  // one per group
  std::vector<double> alpha;  // one per basis measure
  double sigma = 0.0, tau = 1.0;
  struct Own {
    std::string name;
    double value;
  };
  std::vector<Own> own;  // as in Prior

  template <class Self, class Visit>
  static void each(Self& self, const Visit& visit) {
    visit("log_u", self.log_u);
    visit("alpha", self.alpha);
    visit("sigma", self.sigma);
    visit("tau", self.tau);
    for (auto& one : self.own) visit(one.name.c_str(), one.value);
  }
  // The value of that name; throws std::out_of_range where there is none.
  double& operator[](std::string_view name);
  double operator[](std::string_view name) const { return const_cast<MeasureState&>(*this)[name]; }
};

}  // namespace hedgerow
