// How long loops stay open to being stopped: they call `pause()`, and whoever called them may have left a function there that throws.
#pragma once

namespace hedgerow {

// Of this thread; null where nobody listens.
inline thread_local void (*on_pause)() = nullptr;

// Cheap enough for every row: the listener is asked once in so many calls.
class Patience {
 public:
  explicit Patience(int every) : every_(every) {}
  void pause() {
    if (on_pause == nullptr || ++calls_ < every_) return;
    calls_ = 0;
    on_pause();
  }

 private:
  int every_, calls_ = 0;
};

}  // namespace hedgerow
