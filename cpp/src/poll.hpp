// When a kernel asks whether it should end.
#pragma once

#include <chrono>

#include "shaff/forest.hpp"

namespace shaff {

// Asks at once and then every 20 ms: asking may mean to wait for the GIL. Less often, and Ctrl-C
// would be felt (`benchmarks.interrupt`); more often, and threads would wait for each other.
class Poll {
 public:
  explicit Poll(const Interrupted& interrupted) : interrupted_(interrupted) {}

  // Called between pieces of work of a microsecond or more: it reads the clock.
  bool should_end() {
    const auto now = Clock::now();
    if (ended_ || now < next_) return ended_;
    next_ = now + std::chrono::milliseconds(20);
    ended_ = interrupted_ && interrupted_();
    return ended_;
  }

  // Called after each piece of work, however small; `rows`: how many rows it touched.
  bool should_end_after(std::size_t rows) {
    rows_ += rows + 1;
    if (rows_ < kRowsBetween) return ended_;
    rows_ = 0;
    return should_end();
  }

  static bool ask(void* self) { return static_cast<Poll*>(self)->should_end(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kRowsBetween = 1 << 14;  // some ten microseconds of work
  const Interrupted& interrupted_;
  Clock::time_point next_{};  // long ago
  std::size_t rows_ = 0;
  bool ended_ = false;
};

}  // namespace shaff
