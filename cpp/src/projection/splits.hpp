// The splits that are left to make: the compressed tree, the frontier of the current cell in it,
// the cell's box, and the right sides that wait while the left ones are walked.
//
// Invariants
// - The compressed nodes have the order of the original tree (by depth, then from left to right),
//   which is the order of Algorithm 1, and a node comes after its parent.
// - The frontier has the bits of the nodes that the cell reaches and has not passed. All of them
//   are in the words from word_begin_ to word_end_, and all words outside are 0. A taken node only
//   adds nodes after itself, so word_begin_ never falls while one cell is walked.
// - The box of a column bounds the values of all rows of the cell, unless the column has missing
//   values, which are outside of every box: its box is then never used.
// - The arena is a stack that grows with the pending cells: each owns the words from its `arena`
//   on, first those of its bit set, if it has one, then its frontier.
#pragma once

#include <cstring>
#include <limits>

#include "block_mask.hpp"
#include "buffer.hpp"
#include "cells.hpp"
#include "tree_data.hpp"

namespace shaff {
namespace {

template <class Value>
class Splits {
 public:
  struct Pending {  // the right side of a cut, to be walked after the left one
    BitCell bits;   // one of the two forms is used
    ListCell lists;
    Words frontier;
    std::size_t arena, undo;
    std::int32_t column;
    Value cut;
  };

  Splits(const TreeData<Value>& tree, const SplitScratch<Value>& scratch)
      : tree_(tree), scratch_(scratch) {}

  // Keeps the splits on the subset, each hung under the side of its nearest such ancestor.
  void compress(const std::uint64_t* subset) {
    pending_.size = arena_.size = undo_.size = 0;
    clear_frontier();
    word_begin_ = word_end_ = 0;
    std::int32_t count = 0;
    for (std::int32_t i = 0; i < tree_.n_internal; ++i) {
      scratch_.slot[i] = slot_of(i);
      const std::int32_t feature = tree_.feature[i];
      const bool kept = (subset[feature >> 6] >> (feature & 63)) & 1u;
      scratch_.own[i] = kept ? count : -1;
      if (kept) hang(i, count++, scratch_.slot[i]);
    }
  }

  const ProjectedNode<Value>& node(std::int32_t number) const { return scratch_.node[number]; }
  std::int32_t origin(std::int32_t number) const { return scratch_.origin[number]; }

  std::int32_t next_node() {
    for (; word_begin_ < word_end_; ++word_begin_) {
      const std::uint64_t word = scratch_.frontier[word_begin_];
      if (word == 0) continue;
      scratch_.frontier[word_begin_] = word & (word - 1);
      return static_cast<std::int32_t>(word_begin_ * 64 + first_bit(word));
    }
    return -1;
  }

  // The next node that may cut the cell; those that its box decides are passed.
  std::int32_t next_cut() {
    for (;;) {
      const std::int32_t number = next_node();
      if (number < 0) return -1;
      const int side = side_by_box(number);
      if (side < 0) return number;
      take(number, side == 1);
    }
  }

  // 0 left, 1 right, -1 undecided. One branch at most: the sides are hard to predict.
  int side_by_box(std::int32_t number) const {
    const ProjectedNode<Value> split = scratch_.node[number];
    const Range<Value> range = scratch_.box[split.column];
    const bool right = split.cut <= range.low;
    const bool decided = (right | (split.cut >= range.high)) & !split.has_missing;
    return decided ? right : -1;
  }

  // The cell goes on with one side of the node.
  void follow(std::int32_t number, bool right) {
    narrow(scratch_.node[number].column, scratch_.node[number].cut, right);
    take(number, right);
  }

  // Nodes are added after the one that was taken last, so only the end can move.
  void set_bit(std::int32_t number, bool value = true) {
    const auto word = static_cast<std::uint32_t>(number) >> 6;
    scratch_.frontier[word] |= std::uint64_t{value} << (number & 63);
    word_end_ = word_end_ > word ? word_end_ : word + 1;
  }

  template <class Visit>
  void each_of_frontier(Visit visit) const {
    for (std::uint32_t w = word_begin_; w < word_end_; ++w) {
      for (std::uint64_t word = scratch_.frontier[w]; word != 0; word &= word - 1)
        visit(w * 64 + first_bit(word));
    }
  }

  // Room for words of a cell that is about to wait; their owner is the next that waits.
  std::size_t arena_size() const { return arena_.size; }
  std::uint64_t* reserve_words(std::size_t count) {
    arena_.reserve(arena_.size + count);
    arena_.size += count;
    return arena_.data + arena_.size - count;
  }

  // The right side of the node waits; `start`: the size of the arena before its words.
  void push_right(const BitCell& bits, const ListCell& lists, std::int32_t number,
                  std::size_t start) {
    const std::size_t at = arena_.size;
    arena_.reserve(at + static_cast<std::size_t>(tree_.n_internal) / 64 + 1);
    std::uint64_t* copy = arena_.data + at;
    const std::uint32_t begin = word_begin_;
    std::uint32_t end = word_end_;
    std::memcpy(copy, scratch_.frontier + begin, (end - begin) * sizeof(std::uint64_t));
    for (std::int32_t c = scratch_.node[number].child; c >= 0; c = scratch_.node[c].next) {
      const auto word = static_cast<std::uint32_t>(c) >> 6;
      while (end <= word) copy[end++ - begin] = 0;
      copy[word - begin] |= std::uint64_t{scratch_.node[c].right} << (c & 63);
    }
    arena_.size = at + (end - begin);
    pending_.push({bits,
                   lists,
                   {begin, end},
                   start,
                   undo_.size,
                   scratch_.node[number].column,
                   scratch_.node[number].cut});
  }

  std::size_t n_pending() const { return pending_.size; }

  // Takes the cell that came last. Its bit set is what `words` finds in the arena, to be read
  // before anything else waits.
  Pending pop() {
    const Pending right = pending_.data[--pending_.size];
    while (undo_.size > right.undo) {
      const BoxChange& change = undo_.data[--undo_.size];
      scratch_.box[change.column] = change.before;
    }
    narrow(right.column, right.cut, true);
    clear_frontier();
    word_begin_ = right.frontier.begin;
    word_end_ = right.frontier.end;
    std::memcpy(scratch_.frontier + word_begin_, arena_.data + arena_.size - right.frontier.size(),
                right.frontier.size() * sizeof(std::uint64_t));
    arena_.size = right.arena;
    return right;
  }
  const std::uint64_t* words(const Pending& right) const { return arena_.data + right.arena; }

 private:
  struct BoxChange {
    std::int32_t column;
    Range<Value> before;
  };

  std::int32_t slot_of(std::int32_t i) const {  // 2 * ancestor + side, or -1
    const std::int32_t parent = tree_.parent[i];
    if (parent < 0) return -1;
    const std::int32_t own = scratch_.own[parent];
    return own >= 0 ? 2 * own + tree_.side[i] : scratch_.slot[parent];
  }

  void hang(std::int32_t i, std::int32_t number, std::int32_t slot) {
    scratch_.origin[number] = i;
    const std::int32_t column = tree_.column[i];
    const std::uint8_t has_missing = tree_.has_missing[column];
    scratch_.node[number] = {column,
                             -1,
                             -1,
                             tree_.cut[i],
                             static_cast<std::uint8_t>(slot & 1),
                             has_missing,
                             static_cast<std::uint8_t>(has_missing & tree_.missing_left[i])};
    if (slot < 0) {
      set_bit(number);
    } else {
      scratch_.node[number].next = scratch_.node[slot / 2].child;
      scratch_.node[slot / 2].child = number;
    }
    scratch_.box[column] = {std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()};
  }

  void take(std::int32_t number, bool right) {
    for (std::int32_t c = scratch_.node[number].child; c >= 0; c = scratch_.node[c].next)
      set_bit(c, scratch_.node[c].right == right);
  }

  void clear_frontier() {
    for (; word_begin_ < word_end_; ++word_begin_) scratch_.frontier[word_begin_] = 0;
  }

  void narrow(std::int32_t column, Value cut, bool right) {
    if (tree_.has_missing[column]) return;
    undo_.push({column, scratch_.box[column]});
    (right ? scratch_.box[column].low : scratch_.box[column].high) = cut;
  }

  const TreeData<Value>& tree_;
  const SplitScratch<Value> scratch_;
  std::uint32_t word_begin_ = 0, word_end_ = 0;
  Buffer<Pending> pending_;
  Buffer<std::uint64_t> arena_;
  Buffer<BoxChange> undo_;
};

}  // namespace
}  // namespace shaff
