// A check that stays in release builds and says where and what failed.
#pragma once

#include <cstdlib>
#include <iostream>

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      std::cerr << __FILE__ << ":" << __LINE__ << ": CHECK(" #condition ") failed\n"; \
      std::exit(1);                                                                   \
    }                                                                                 \
  } while (false)
