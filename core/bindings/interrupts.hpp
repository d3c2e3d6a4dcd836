// Ctrl-C in the middle of long work: without Python's lock, yet heard about twenty times a second.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "hedgerow/patience.hpp"

namespace hedgerow::bindings {

// Signals reach the main thread only: it asks the others to end.
struct Halt {
  std::atomic<bool> asked{false};
};

// Like gil_scoped_release; signals that arrive meanwhile end the work with Python's exception (in the main thread, as ever).
class Interruptible {
 public:
  explicit Interruptible(const Halt* halt = nullptr) : before_(on_pause) {
    halt_ = halt;
    on_pause = &listen;
    last_ = Clock::now();
  }
  ~Interruptible() { on_pause = before_, halt_ = nullptr; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  static void listen() {
    if (halt_ != nullptr && halt_->asked) throw std::runtime_error("asked to end");
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    nanobind::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }

  static inline thread_local Clock::time_point last_;
  static inline thread_local const Halt* halt_ = nullptr;
  void (*before_)();
  nanobind::gil_scoped_release release_;
};

}  // namespace hedgerow::bindings
