// A vector for very many small records touched at random: on Linux large ones ask for huge pages, without which every
// touch pays for a page-table walk as well.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace hedgerow {

template <class T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) {}

  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes < kLarge) return static_cast<T*>(::operator new(bytes, std::align_val_t{64}));
    const std::size_t rounded = (bytes + kHuge - 1) / kHuge * kHuge;
    void* p = ::operator new(rounded, std::align_val_t{kHuge});
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(p, rounded, MADV_HUGEPAGE);  // advice: when refused, only speed is lost
#endif
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) { ::operator delete(p, std::align_val_t{n * sizeof(T) < kLarge ? 64 : kHuge}); }
  template <class U>
  bool operator==(const PageAllocator<U>&) const {
    return true;
  }

 private:
  static constexpr std::size_t kHuge = std::size_t{1} << 21, kLarge = 4 * kHuge;
};

template <class T>
using PagedVector = std::vector<T, PageAllocator<T>>;

}  // namespace hedgerow
