// doctest, where the machine has it (Debian: doctest-dev). Elsewhere the few of its words that these tests use, so that they run on a
// bare machine: doctest is in no registry that a plain Python installation reaches.
#pragma once

#if __has_include(<doctest/doctest.h>)
#include <doctest/doctest.h>
#else

#include <cstring>
#include <exception>
#include <iostream>
#include <vector>

namespace doctest {

struct Case {
  const char* name;
  void (*run)();
};

struct Results {
  std::vector<Case> cases;
  int checks = 0, failures = 0;
};

inline Results& results() {
  static Results all;
  return all;
}

inline int enlist(const char* name, void (*run)()) {
  results().cases.push_back({name, run});
  return 0;
}

template <class... Words>
void check(bool ok, const char* file, int line, const char* what, const Words&... words) {
  ++results().checks;
  if (ok) return;
  ++results().failures;
  std::cerr << file << ":" << line << ": CHECK( " << what << " ) is not correct! ";
  (std::cerr << ... << words) << std::endl;
}

class Context {
 public:
  Context(int argc, const char* const* argv) {
    for (int i = 1; i < argc; ++i)
      if (std::strncmp(argv[i], "-tc=", 4) == 0) wanted_ = argv[i] + 4;
  }

  int run() {
    for (const Case& test : results().cases) {
      if (!wanted(test.name)) continue;
      const int before = results().failures;
      try {
        test.run();
      } catch (const std::exception& error) {
        ++results().failures;
        std::cerr << "exception: " << error.what() << std::endl;
      }
      if (results().failures > before) std::cerr << "FAILED: " << test.name << std::endl;
    }
    std::cout << results().cases.size() << " test cases, " << results().checks << " checks, " << results().failures << " failed"
              << std::endl;
    return results().failures != 0;
  }

 private:
  // The name itself, or how it begins and a star.
  bool wanted(const char* name) const {
    const std::size_t length = wanted_ ? std::strlen(wanted_) : 0;
    if (length > 0 && wanted_[length - 1] == '*') return std::strncmp(wanted_, name, length - 1) == 0;
    return !wanted_ || std::strcmp(wanted_, name) == 0;
  }
  const char* wanted_ = nullptr;
};

}  // namespace doctest

#define HR_JOINED_(a, b) a##b
#define HR_JOINED(a, b) HR_JOINED_(a, b)
#define TEST_CASE(name)                                                                                               \
  static void HR_JOINED(test_, __LINE__)();                                                                           \
  [[maybe_unused]] static const int HR_JOINED(listed_, __LINE__) = doctest::enlist(name, HR_JOINED(test_, __LINE__)); \
  static void HR_JOINED(test_, __LINE__)()
#define CHECK(...) doctest::check(static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)
#define CHECK_MESSAGE(condition, ...) doctest::check(static_cast<bool>(condition), __FILE__, __LINE__, #condition, __VA_ARGS__)
#define CHECK_THROWS_AS(expression, type)                                     \
  do {                                                                        \
    bool thrown = false;                                                      \
    try {                                                                     \
      static_cast<void>(expression);                                          \
    } catch (const type&) {                                                   \
      thrown = true;                                                          \
    }                                                                         \
    doctest::check(thrown, __FILE__, __LINE__, #expression " throws " #type); \
  } while (false)

#endif
