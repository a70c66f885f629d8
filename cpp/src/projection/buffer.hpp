// A growing array of plain values, without library templates: see kernel.hpp.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace shaff {
namespace {

template <class T>
struct Buffer {
  T* data = nullptr;
  std::size_t size = 0, capacity = 0;
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data); }
  void reserve(std::size_t wanted) {
    if (wanted <= capacity) return;
    const std::size_t grown = wanted < 2 * capacity ? 2 * capacity : wanted;
    void* moved = std::realloc(data, grown * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data = static_cast<T*>(moved);
    capacity = grown;
  }
  void push(const T& value) {
    reserve(size + 1);
    data[size++] = value;
  }
};

}  // namespace
}  // namespace shaff
