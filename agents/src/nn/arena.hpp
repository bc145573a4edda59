#pragma once

// A bump allocator for numbers that live until the next clear(). After the first rounds everything
// fits in one block, and no more memory is requested.

#include "matrix.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace emplace::agents::nn {

/// Allocates numbers, aligned for the widest vectors. There is room for a multiple of kLanes.
template <class Scalar>
class Arena {
 public:
  /// Returns uninitialized memory for `count` numbers, valid until clear().
  Scalar* allocate(std::size_t count) {
    const std::size_t size = (count + kStep - 1) / kStep * kStep;
    if (blocks_.empty() || used_ + size > blocks_.back().size) {
      add_block(size > kFirst ? size : kFirst);
    }
    Scalar* const allocated = blocks_.back().numbers.get() + used_;
    used_ += size;
    return allocated;
  }

  /// Frees all allocations and merges the blocks into one.
  void clear() {
    if (blocks_.size() > 1) {
      std::size_t sum = 0;
      for (const Block& block : blocks_) {
        sum += block.size;
      }
      blocks_.clear();
      add_block(sum);
    }
    used_ = 0;
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kStep = kLanes;
  static_assert(kStep * sizeof(Scalar) % kAlignment == 0);
  static constexpr std::size_t kFirst = std::size_t{1} << 14;

  struct Release {
    void operator()(Scalar* numbers) const {
      ::operator delete(numbers, std::align_val_t{kAlignment});
    }
  };
  struct Block {
    std::unique_ptr<Scalar[], Release> numbers;
    std::size_t size;
  };

  void add_block(std::size_t count) {
    void* const memory = ::operator new(count * sizeof(Scalar), std::align_val_t{kAlignment});
    blocks_.push_back({std::unique_ptr<Scalar[], Release>(static_cast<Scalar*>(memory)), count});
    used_ = 0;
  }

  std::vector<Block> blocks_;
  std::size_t used_ = 0;  // of the last block
};

}  // namespace emplace::agents::nn
