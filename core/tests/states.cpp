// Kernels and streams put down and taken up again go on alike; states that nobody wrote are refused or harmless, which the
// sanitizers watch.
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "hedgerow/builder.hpp"
#include "hedgerow/kernels/combine.hpp"
#include "hedgerow/kernels/gibbs.hpp"
#include "hedgerow/kernels/published.hpp"
#include "hedgerow/kernels/slice.hpp"
#include "hedgerow/kernels/split_merge.hpp"
#include "hedgerow/kernels/tree_guided.hpp"
#include "hedgerow/likelihoods/gaussian_diagonal.hpp"
#include "hedgerow/likelihoods/gaussian_wishart.hpp"
#include "hedgerow/likelihoods/multinomial.hpp"
#include "hedgerow/stream.hpp"
#include "priors.hpp"
#include "testing.hpp"

using namespace hedgerow;

namespace {

std::vector<double> rows(int n, int d, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> x(static_cast<std::size_t>(n) * d);
  for (int i = 0; i < n; ++i) {
    const double centre = 6.0 * rng.index(4);
    for (int j = 0; j < d; ++j) x[static_cast<std::size_t>(i) * d + j] = centre + rng.normal();
  }
  return x;
}

std::shared_ptr<GaussianWishart> wishart(const std::vector<double>& x, int d) {
  std::vector<double> mean(d, 0.0), psi(d * d, 0.0);
  for (int i = 0; i < d; ++i) psi[i * d + i] = 1.0;
  return std::make_shared<GaussianWishart>(x.data(), static_cast<int>(x.size()) / d, d, mean.data(), 0.1, d + 6.0, psi.data());
}

std::shared_ptr<GaussianDiagonal> diagonal(const std::vector<double>& x, int d) {
  const std::vector<double> mean(d, 0.0), one(d, 1.0);
  return std::make_shared<GaussianDiagonal>(x.data(), static_cast<int>(x.size()) / d, d, mean.data(), one.data(), one.data(),
                                            one.data());
}

// ---- what refers to parts of itself stays where it is

template <typename T>
constexpr bool kStays = !std::is_copy_constructible_v<T> && !std::is_move_constructible_v<T> && !std::is_copy_assignable_v<T> &&
                        !std::is_move_assignable_v<T>;
static_assert(kStays<State> && kStays<Chain> && kStays<Forest> && kStays<Stream> && kStays<TreeBuilder>);

// ---- kernels

// Counts what a chain asks of it.
struct Counting final : Kernel {
  explicit Counting(std::vector<std::string>& calls) : calls_(calls) {}
  void step(State&) override { calls_.emplace_back("step"); }
  void adapt(State&, double, int) override { calls_.emplace_back("adapt"); }
  void end_warm_up(State&) override { calls_.emplace_back("end"); }
  std::vector<std::string>& calls_;
};

TEST_CASE("rows are put where others have settled, and no tree takes that place") {
  const std::vector<double> x = rows(40, 2, 7);
  std::vector<int> given(40, -1);
  for (int i = 0; i < 20; ++i) given[i] = i % 2;
  for (bool settled : {true, false}) {
    Chain chain(wishart(x, 2), sampled_prior(), std::make_unique<TreeGuided>(Guides{}, GuideSource{1, 3, 0}, 0, 1, 0.0, 0.0),
                std::vector<int>(40, 0), {}, 3, 0);
    allocate_sequentially(chain.state, given);
    const std::vector<int> put = chain.state.partition.labels();
    for (int i = 0; i < 40; ++i) CHECK((i < 20 ? put[i] == given[i] : put[i] >= 0));
    chain.state.settled = settled;
    chain.warm_up(0.0, 10);
    CHECK((chain.state.partition.labels() == put) == settled);
  }
}

TEST_CASE("a warm-up ends once, before the first draw") {
  const std::vector<double> x = rows(5, 1, 1);
  for (int warmup : {0, 2}) {
    std::vector<std::string> calls, wanted;
    std::vector<Combined::Part> inner, outer;
    inner.push_back({"inner", std::make_unique<Counting>(calls), 1.0});
    outer.push_back({"outer", std::make_unique<Mix>(std::move(inner)), 1.0});
    Chain c(wishart(x, 1), sampled_prior(), std::make_unique<Cycle>(std::move(outer)), std::vector<int>(5, 0), {}, 7, 0);
    for (int i = 0; i < warmup; ++i) {
      c.warm_up(i / 2.0, 2);
      wanted.insert(wanted.end(), {"adapt", "step"});
    }
    if (warmup == 0) c.end_warm_up();
    for (int i = 0; i < 2; ++i) c.step();
    wanted.insert(wanted.end(), {"end", "step", "step"});
    CHECK_MESSAGE(calls == wanted, "a warm-up ends once, before the first draw, after ", warmup);
    bool refused = false;
    try {
      c.warm_up(0.5, 2);
    } catch (const std::logic_error&) {
      refused = true;
    }
    CHECK_MESSAGE(refused, "and does not begin again, after ", warmup);
  }
}

std::unique_ptr<Kernel> kernel(int which) {
  if (which == 0) return std::make_unique<Gibbs>();
  if (which == 1) return std::make_unique<SplitMerge>(3, 0);
  if (which == 2) return TreeGuided::annealed({}, {2, 7, 0}, 5, TreeGuided::kTuned, TreeGuided::kTuned, 1.0);
  if (which == 3) return std::make_unique<Published>(3, 2);
  if (which == 4) return std::make_unique<Slice>();
  std::vector<Combined::Part> parts;
  for (int i = 0; i < 4; ++i) parts.push_back({std::to_string(i), kernel(i), 1.0});
  if (which == 5) return std::make_unique<Cycle>(std::move(parts));
  return std::make_unique<Mix>(std::move(parts));
}

Chain chain(const std::shared_ptr<const Likelihood>& likelihood, int which) {
  return Chain(likelihood, sampled_prior(), kernel(which), std::vector<int>(likelihood->rows(), 0), {}, 7, which);
}

void put_back(Chain& to, const Chain& from, const Carried& carried, bool warming) {
  to.state.measure.set(from.state.measure.state());
  to.state.partition.assign(from.state.partition.labels());
  to.state.rng.set_state(from.state.rng.state());
  to.load(carried, warming);
}

TEST_CASE("kernels go on where they were put down") {
  const std::vector<double> x = rows(60, 2, 1);
  const std::shared_ptr<const Likelihood> likelihood = wishart(x, 2);
  for (int which = 0; which < 7; ++which) {
    bool same = true;
    std::vector<Carried> memories;
    for (int until = 1; until < 60; until += 2) {  // put down within the warm-up, at every stage of annealing
      Chain first = chain(likelihood, which), second = chain(likelihood, which);
      for (int i = 0; i < until; ++i) first.warm_up(i / 60.0, 120);
      Carried carried;
      first.kernel().save(carried);
      put_back(second, first, carried, true);
      memories.push_back(carried);
      for (int i = until; i < until + 3; ++i)
        for (Chain* c : {&first, &second}) c->warm_up(i / 60.0, 120);
      for (Chain* c : {&first, &second}) c->step();
      same = same && first.state.partition.labels() == second.state.partition.labels() && first.log_joint() == second.log_joint();
    }
    CHECK_MESSAGE(same, "kernel ", which, " goes on where it was put down in its warm-up");

    Chain first = chain(likelihood, which), second = chain(likelihood, which);
    for (int i = 0; i < 12; ++i) first.warm_up(i / 12.0, 12);
    for (int i = 0; i < 5; ++i) first.step();
    Carried carried;
    first.kernel().save(carried);
    put_back(second, first, carried, false);
    same = true;
    for (int i = 0; i < 10; ++i) {
      first.step();
      second.step();
      same = same && first.state.partition.labels() == second.state.partition.labels() && first.log_joint() == second.log_joint();
    }
    CHECK_MESSAGE(same, "kernel ", which, " goes on where it was put down");

    // Numbers changed or cut off: an exception, or a kernel that still runs.
    Rng rng(which);
    int refused = 0;
    const int trials = carried.counters.empty() && carried.whole.empty() ? 0 : 150;
    for (int t = 0; t < trials; ++t) {
      Carried other = t % 2 ? carried : memories[t % memories.size()];
      auto& numbers = other.whole.empty() || (t % 4 == 1 && !other.counters.empty()) ? other.counters : other.whole;
      const int at = rng.index(static_cast<int>(numbers.size()));
      const int values[] = {-1, 0, 1, 2, 59, 60, 61, 119, 2147483647, -2147483647 - 1};
      if (t % 5 == 0)
        numbers.resize(at);
      else
        numbers[at] = values[rng.index(10)];
      if (!other.real.empty() && t % 3 == 0) other.real[rng.index(static_cast<int>(other.real.size()))] = t % 2 ? std::nan("") : -1e300;
      Chain third = chain(likelihood, which);
      try {
        put_back(third, first, other, t % 2 == 0);
        if (t % 2 == 0) third.warm_up(t / 150.0, 150);
        third.step();
      } catch (const std::invalid_argument&) {
        ++refused;
      }
    }
    if (trials) CHECK_MESSAGE(refused > 0, "numbers that kernel ", which, " did not write are refused or harmless: ", refused);
  }
}

// Rows of one blob tossed into two clusters: each such partition is far less likely than one cluster, all of them together are not.
TEST_CASE("the mass of a mode counts partitions") {
  Rng rng(3);
  std::vector<double> x(2 * 1000);
  for (double& v : x) v = rng.normal();
  const std::shared_ptr<const Likelihood> likelihood = wishart(x, 2);
  Chain one = chain(likelihood, 0), two = chain(likelihood, 0);
  std::vector<int> tossed(1000);
  for (int i = 0; i < 1000; ++i) tossed[i] = i < 2 ? i : rng.index(2);
  two.state.partition.assign(tossed);
  Gibbs gibbs;
  const double height = one.log_joint() - two.log_joint(), mass = gibbs.log_mass(one.state) - gibbs.log_mass(two.state);
  CHECK_MESSAGE(height > 600.0, "a blob in two is far below it in one: ", height);
  // A second cluster costs what its five numbers do, about 5/2 log 1000 = 17 nats, give or take a few for the toss.
  CHECK_MESSAGE(std::abs(mass) < 30.0, "and has about as much mass: ", mass);
}

// ---- streams

struct Fed {
  std::unique_ptr<Stream> stream;
  std::vector<double> x;
};

Fed fed(int d, int batches, int size, bool gaussian, StreamOptions options) {
  Fed out;
  for (int b = 0; b < batches; ++b) {
    const std::vector<double> more = rows(size, d, 100 + b);
    std::shared_ptr<Likelihood> batch;
    if (gaussian)
      batch = wishart(more, d);
    else
      batch = diagonal(more, d);
    if (!out.stream)
      out.stream = std::make_unique<Stream>(batch, sampled_prior(), std::vector<int>{}, std::vector<double>{}, options, 3);
    else
      out.stream->add(*batch, {});
    out.x.resize(static_cast<std::size_t>(out.stream->likelihood().rows()) * d);
    for (int i = 0; i < size; ++i)  // rows that were folded are used again
      std::copy_n(&more[static_cast<std::size_t>(i) * d], d, &out.x[static_cast<std::size_t>(out.stream->batch_rows()[i]) * d]);
  }
  return out;
}

std::shared_ptr<Likelihood> likelihood_of(const std::vector<double>& x, int d, bool gaussian) {
  if (gaussian) return wishart(x, d);
  return diagonal(x, d);
}

std::vector<std::int32_t> labels_of(const Stream& stream) {
  std::vector<std::int32_t> out(stream.seen());
  stream.labels(0, stream.seen(), out.data());
  return out;
}

bool leaves_add_up(const Forest& forest) {
  for (int c = Forest::kScratch; c < static_cast<int>(forest.inner().size()); ++c)
    if (forest.size(c) > 0 && forest.splittable(c) &&
        forest.leaf_count(c) != forest.leaf_count(forest.left(c)) + forest.leaf_count(forest.right(c)))
      return false;
  return true;
}

void streams_go_on(bool gaussian, double half_life = 0.0) {
  const int d = 2, size = 40;
  StreamOptions options;
  options.half_life = half_life;
  Fed one = fed(d, 6, size, gaussian, options);
  const StreamState state = one.stream->state();
  Stream two(likelihood_of(one.x, d, gaussian), sampled_prior(), options, state);
  bool same = true;
  for (int b = 0; b < 6; ++b) {
    const std::vector<double> more = rows(size, d, 200 + b);
    const auto batch = likelihood_of(more, d, gaussian);
    one.stream->add(*batch, {});
    two.add(*batch, {});
    same = same && labels_of(*one.stream) == labels_of(two) && one.stream->events().size() == two.events().size();
  }
  CHECK_MESSAGE(same, "a stream goes on where it was put down");
  CHECK(one.stream->forest().log_joint() == two.forest().log_joint());
  CHECK_MESSAGE(leaves_add_up(one.stream->forest()), "rows that went elsewhere are no longer counted");
  StreamState more = state;
  ++more.group_sizes[0];
  CHECK_THROWS_AS(Stream(likelihood_of(one.x, d, gaussian), sampled_prior(), options, more), std::invalid_argument);
}

// One number of one array changed, an array cut or made longer: refused, or a stream that can be used.
void hostile_streams(int max_nodes, int batches) {
  const int d = 1, size = 60;
  Fed one = fed(d, batches, size, false, StreamOptions{max_nodes, true, true});
  const StreamState state = one.stream->state();
  const int held = one.stream->likelihood().rows();
  Rng rng(5);
  int refused = 0, used = 0;
  for (int t = 0; t < 400; ++t) {
    StreamState s = state;
    std::vector<std::int32_t>* whole[] = {&s.left,       &s.right,         &s.size,        &s.free_nodes, &s.roots,
                                          &s.tags,       &s.groups,        &s.group_sizes, &s.compared,   &s.row_point,
                                          &s.free_rows,  &s.doubtful,      &s.home,        &s.folds,      &s.fold_node,
                                          &s.event_kind, &s.event_cluster, &s.event_other, &s.event_size};
    std::vector<double>* real[] = {&s.log_like, &s.slack, &s.packed, &s.measure.log_u, &s.measure.alpha};
    const int values[] = {-1, 0, 1, 2, 3, held, held - 1, 2147483647, -2147483647 - 1, static_cast<int>(state.left.size())};
    const double reals[] = {0.0, -1.0, 1e300, -1e300, std::nan(""), HUGE_VAL};
    if (t % 4 != 3) {
      auto& v = *whole[rng.index(19)];
      if (v.empty() || t % 7 == 0)
        v.resize(rng.index(static_cast<int>(v.size()) + 2), 1);
      else
        v[rng.index(static_cast<int>(v.size()))] =
            rng.uniform() < 0.5 ? values[rng.index(10)] : rng.index(static_cast<int>(state.left.size()));
    } else if (t % 8 == 3) {
      auto& v = *real[rng.index(5)];
      if (!v.empty()) v[rng.index(static_cast<int>(v.size()))] = reals[rng.index(6)];
    } else {
      (t % 16 == 7 ? s.seen : s.swept_at) = values[rng.index(10)];
      (t % 32 < 16 ? s.next_id : s.cursor) = values[rng.index(10)];
      if (t % 5 == 0) s.packed_start[rng.index(static_cast<int>(s.packed_start.size()))] = values[rng.index(10)];
      if (t % 11 == 0) s.rng = {};
    }
    try {
      Stream two(diagonal(one.x, d), sampled_prior(), StreamOptions{max_nodes, true, true}, s);
      const std::vector<double> more = rows(20, d, 300 + t);
      two.add(*diagonal(more, d), {});
      labels_of(two);
      std::vector<std::int64_t> points;
      two.arrays(points);
      ++used;
    } catch (const std::invalid_argument&) {
      ++refused;
    }
  }
  CHECK_MESSAGE(refused > 100, "states of streams that nobody wrote are refused or harmless: ", refused);
  CHECK_MESSAGE(used > 0, "used: ", used);
}

std::shared_ptr<Likelihood> words(int n, std::uint64_t seed) {
  constexpr int kColumns = 400, kLength = 4;
  Rng rng(seed);
  std::vector<std::int64_t> start{0};
  std::vector<std::int32_t> column;
  for (int i = 0; i < n; ++i) {
    std::vector<std::int32_t> row;
    while (static_cast<int>(row.size()) < kLength) {
      const int w = 20 * (i % 3) + rng.index(20);
      if (std::find(row.begin(), row.end(), w) == row.end()) row.push_back(w);
    }
    std::sort(row.begin(), row.end());
    column.insert(column.end(), row.begin(), row.end());
    start.push_back(static_cast<std::int64_t>(column.size()));
  }
  const std::vector<double> counts(column.size(), 1.0);
  return std::make_shared<Multinomial>(start.data(), column.data(), counts.data(), n, kColumns, 0.5);
}

// Counts that the rows below a node do not add up to: taking one of them out again would look up a word that is not there.
TEST_CASE("counts that rows do not add up to") {
  Stream one(words(60, 1), sampled_prior(), {}, {}, StreamOptions{}, 3);
  const StreamState state = one.state();
  int refused = 0;
  const int nodes = static_cast<int>(state.left.size());
  for (int c = Forest::kScratch; c < nodes; ++c) {
    StreamState s = state;
    const std::int64_t begin = s.packed_start[c] + 3, end = s.packed_start[c + 1];
    if (s.size[c] == 0) continue;
    for (std::int64_t i = begin; i < end; i += 2) s.packed[i] = static_cast<double>(c % 2 ? (i - begin) / 2 + 100 : (i - begin) / 2);
    try {
      Stream two(words(60, 1), sampled_prior(), StreamOptions{}, s);
      for (int b = 0; b < 5; ++b) two.add(*words(40, 10 + b), {});
    } catch (const std::invalid_argument&) {
      ++refused;
    }
  }
  CHECK_MESSAGE(refused == nodes - Forest::kScratch - static_cast<int>(state.free_nodes.size()),
                "counts that rows do not add up to are refused: ", refused);
  Stream two(words(60, 1), sampled_prior(), StreamOptions{}, state);
  one.add(*words(40, 10), {});
  two.add(*words(40, 10), {});
  CHECK_MESSAGE(labels_of(one) == labels_of(two), "a stream of counts goes on where it was put down");
}

TEST_CASE("streams go on where they were put down") {
  for (double half_life : {0.0, 30.0}) {
    streams_go_on(true, half_life);
    streams_go_on(false, half_life);
  }
}

TEST_CASE("states of streams that nobody wrote") {
  hostile_streams(0, 3);
  hostile_streams(1000, 30);
}

}  // namespace
