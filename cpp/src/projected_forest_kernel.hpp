// One tree projected on one subset: all cells, all out-of-bag queries (Algorithm 1 of the paper).
//
// A cell goes through up to three forms as cuts make it smaller, each the fastest for its size:
// a bit set over all places of the tree, where a cut is an AND with a mask that all subsets share;
// two lists of places (bag, queries) that a cut partitions; and, from 64 places of each kind on, a
// block, where a set of rows is one word and all cells of the block are cut side by side.
//
// This header is compiled twice (portable and AVX2). Everything is in an unnamed namespace and the
// hot path uses no library template, so that the linker can never mix the two builds.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "block_mask.hpp"
#include "projected_forest_tree.hpp"

namespace shaff {
namespace {

template <class T>
struct Buffer {  // a growing array of plain values
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

struct Words {  // a range of words of a bit set
  std::uint32_t begin, end;
};

struct Sides {  // rows of a block
  std::uint64_t bag, queries;
};

// The binary digits of the excess weights (at most 7) of a block's bag, a mask each.
struct Digits {
  std::uint64_t ones, twos, fours;
  std::uint32_t weight(std::uint64_t bag) const {
    return count_bits(bag) + count_bits(bag & ones) + 2 * count_bits(bag & twos) +
           4 * count_bits(bag & fours);
  }
};

struct Lists {
  std::uint32_t bag_begin, bag_end, query_begin, query_end;
};

template <class Value>
class Projection {
 public:
  Projection(const TreeData<Value>& tree, ProjectionScratch<Value>& scratch)
      : t(tree),
        s(scratch),
        whole_min_(tree.whole_weights ? static_cast<std::uint32_t>(tree.min_node_size) : 0) {}

  void run(const std::uint64_t* subset, double* sum, double* sum_squares) {
    compress(subset);
    pending_.size = arena_.size = undo_.size = 0;
    bag_words_ = fill(0, t.n_bag);
    query_words_ = fill(t.first_query, t.n_query);
    walk_bits(t.n_bag, t.n_query);
    while (pending_.size > 0) {
      const Pending right = pending_.data[--pending_.size];
      arena_.size = right.arena;
      bag_words_ = take_words(right.bag_words);
      query_words_ = take_words(right.query_words);
      restore(right);
      arena_.size = right.arena;
      walk_bits(right.lists.bag_end, right.lists.query_end);
    }
    add_predictions(sum, sum_squares);
  }

 private:
  struct Pending {                       // the right side of a cut, to be walked after the left one
    Lists lists;                         // in bit form only the ends are used, as counts
    Words bag_words, query_words;        // in bit form: the words first in the arena
    std::uint32_t word_begin, word_end;  // its frontier: these words, last in the arena
    std::size_t arena, undo;
    std::int32_t column;
    Value cut;
  };
  struct BoxChange {
    std::int32_t column;
    Range<Value> before;
  };

  static std::uint64_t low_bits(std::uint32_t n) {
    return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  }

  Words fill(std::uint32_t begin, std::uint32_t count) {  // begin: on a word boundary
    std::uint32_t word = begin / 64;
    for (; count >= 64; count -= 64) s.cell[word++] = ~std::uint64_t{0};
    if (count > 0) s.cell[word++] = low_bits(count);
    return {begin / 64, word};
  }

  // Moves the next words of the arena to the cell.
  Words take_words(const Words& words) {
    const std::size_t count = words.end - words.begin;
    std::memcpy(s.cell + words.begin, arena_.data + arena_.size, count * sizeof(std::uint64_t));
    arena_.size += count;
    return words;
  }

  // Rows of one leaf are neighbours, so cells of large subsets fill few words: trim the others.
  Words trimmed(Words words) const {
    while (words.begin < words.end && s.cell[words.begin] == 0) ++words.begin;
    while (words.begin < words.end && s.cell[words.end - 1] == 0) --words.end;
    return words;
  }

  // ---- the compressed tree -----------------------------------------------------------------

  // Keep the splits on the subset, each hung under the side of its nearest such ancestor. The
  // compressed nodes keep the order of the original tree: by depth, then from left to right.
  void compress(const std::uint64_t* subset) {
    std::int32_t count = 0;
    clear_frontier();
    word_begin_ = word_end_ = 0;
    for (std::int32_t i = 0; i < t.n_internal; ++i) {
      const std::int32_t parent = t.parent[i];
      std::int32_t slot = -1;  // 2 * ancestor + side
      if (parent >= 0) slot = s.own[parent] >= 0 ? 2 * s.own[parent] + t.side[i] : s.slot[parent];
      s.slot[i] = slot;
      const std::int32_t feature = t.feature[i];
      if (!((subset[feature >> 6] >> (feature & 63)) & 1u)) {
        s.own[i] = -1;
        continue;
      }
      s.own[i] = count;
      s.origin[count] = i;
      const std::uint8_t has_missing = t.has_missing[t.column[i]];
      s.node[count] = {t.column[i],
                       -1,
                       -1,
                       t.cut[i],
                       static_cast<std::uint8_t>(slot & 1),
                       has_missing,
                       static_cast<std::uint8_t>(has_missing & t.missing_left[i])};
      if (slot < 0) {
        set_bit(count);
      } else {
        s.node[count].next = s.node[slot / 2].child;
        s.node[slot / 2].child = count;
      }
      s.box[t.column[i]] = {std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()};
      ++count;
    }
  }

  // Nodes are added after the one that was taken last, so only the end can move.
  void set_bit(std::int32_t node, bool value = true) {
    const auto word = static_cast<std::uint32_t>(node) >> 6;
    s.frontier[word] |= std::uint64_t{value} << (node & 63);
    word_end_ = word_end_ > word ? word_end_ : word + 1;
  }

  void take(std::int32_t node, bool right) {
    for (std::int32_t c = s.node[node].child; c >= 0; c = s.node[c].next)
      set_bit(c, s.node[c].right == right);
  }

  void clear_frontier() {
    for (; word_begin_ < word_end_; ++word_begin_) s.frontier[word_begin_] = 0;
  }

  std::int32_t next_node() {
    for (; word_begin_ < word_end_; ++word_begin_) {
      const std::uint64_t word = s.frontier[word_begin_];
      if (word == 0) continue;
      s.frontier[word_begin_] = word & (word - 1);
      return static_cast<std::int32_t>(word_begin_ * 64 + first_bit(word));
    }
    return -1;
  }

  // The next node that may cut the cell; those that its box decides are passed. A missing value is
  // outside of every box, so columns that have any are never decided this way.
  std::int32_t next_cut() {
    for (;;) {
      const std::int32_t node = next_node();
      if (node < 0) return -1;
      const int side = side_by_box(node);
      if (side < 0) return node;
      take(node, side == 1);
    }
  }

  // 0 left, 1 right, -1 undecided. One branch at most: the sides are hard to predict.
  int side_by_box(std::int32_t node) const {
    const ProjectedNode<Value> split = s.node[node];
    const Range<Value> range = s.box[split.column];
    const bool right = split.cut <= range.low;
    const bool decided = (right | (split.cut >= range.high)) & !split.has_missing;
    return decided ? right : -1;
  }

  void follow(std::int32_t node, bool right) {
    narrow(s.node[node].column, s.node[node].cut, right);
    take(node, right);
  }

  void narrow(std::int32_t column, Value cut, bool right) {
    if (t.has_missing[column]) return;
    undo_.push({column, s.box[column]});
    (right ? s.box[column].low : s.box[column].high) = cut;
  }

  // Appends the right side's frontier to the arena, after what the caller stored at `start`.
  void push_right(const Lists& lists, std::int32_t node, std::size_t start) {
    const std::size_t at = arena_.size;
    arena_.reserve(at + static_cast<std::size_t>(t.n_internal) / 64 + 1);
    std::uint64_t* copy = arena_.data + at;
    const std::uint32_t begin = word_begin_;
    std::uint32_t end = word_end_;
    std::memcpy(copy, s.frontier + begin, (end - begin) * sizeof(std::uint64_t));
    for (std::int32_t c = s.node[node].child; c >= 0; c = s.node[c].next) {
      const auto word = static_cast<std::uint32_t>(c) >> 6;
      while (end <= word) copy[end++ - begin] = 0;
      copy[word - begin] |= std::uint64_t{s.node[c].right} << (c & 63);
    }
    arena_.size = at + (end - begin);
    pending_.push({lists, bag_words_, query_words_, begin, end, start, undo_.size,
                   s.node[node].column, s.node[node].cut});
  }

  // Takes back the frontier, stored at the end of the arena, and the box.
  void restore(const Pending& right) {
    while (undo_.size > right.undo) {
      const BoxChange& change = undo_.data[--undo_.size];
      s.box[change.column] = change.before;
    }
    narrow(right.column, right.cut, true);
    clear_frontier();
    word_begin_ = right.word_begin;
    word_end_ = right.word_end;
    std::memcpy(s.frontier + word_begin_, arena_.data + arena_.size,
                (word_end_ - word_begin_) * sizeof(std::uint64_t));
    has_sums_ = false;
  }

  // ---- cells as bit sets -------------------------------------------------------------------

  void walk_bits(std::uint32_t n_bag, std::uint32_t n_query) {
    has_sums_ = false;
    for (;;) {
      if (n_query == 0) return;  // nobody to predict
      const Words both[2] = {bag_words_, query_words_};
      const std::uint32_t span =
          bag_words_.end - bag_words_.begin + query_words_.end - query_words_.begin;
      if ((n_bag <= kBlock && n_query <= kBlock) || n_bag + n_query <= span / 2)
        return walk_lists(extract());
      const std::int32_t node = next_cut();
      if (node < 0) {
        sum_bits();
        return emit_bits(nullptr, false);
      }
      const std::uint64_t* mask = node_mask(node);
      const std::uint32_t bag = count_left(mask, bag_words_);
      const std::uint32_t query = count_left(mask, query_words_);
      if (bag + query == 0 || bag + query == n_bag + n_query) {
        follow(node, bag + query == 0);
        continue;
      }
      const bool left = enough_bits(mask, false, bag), right = enough_bits(mask, true, n_bag - bag);
      if ((!left && query > 0) || (!right && query < n_query)) sum_bits();
      if (!left && query > 0) emit_bits(mask, false);
      if (!right && query < n_query) emit_bits(mask, true);
      const bool keep_left = left && query > 0, keep_right = right && query < n_query;
      if (!keep_left && !keep_right) return;
      const std::uint64_t flip = keep_left ? 0 : ~std::uint64_t{0};
      drop_bits(mask, ~flip, keep_left ? n_bag - bag : bag, n_bag);
      if (keep_left && keep_right) {
        const std::size_t start = arena_.size;
        arena_.reserve(start + span);
        for (const Words& words : both) {
          std::uint64_t* other = arena_.data + arena_.size;
          const std::uint32_t count = words.end - words.begin;
          split_words(s.cell + words.begin, mask + words.begin, count, other);
          arena_.size += count;
        }
        push_right({0, n_bag - bag, 0, n_query - query}, node, start);
      } else {
        for (const Words& words : both) {
          for (std::uint32_t w = words.begin; w < words.end; ++w) s.cell[w] &= mask[w] ^ flip;
        }
      }
      bag_words_ = trimmed(bag_words_);
      query_words_ = trimmed(query_words_);
      n_bag = keep_left ? bag : n_bag - bag;
      n_query = keep_left ? query : n_query - query;
      follow(node, !keep_left);
    }
  }

  static void split_words(std::uint64_t* __restrict cell, const std::uint64_t* __restrict mask,
                          std::uint32_t count, std::uint64_t* __restrict other) {
    for (std::uint32_t w = 0; w < count; ++w) {
      other[w] = cell[w] & ~mask[w];
      cell[w] &= mask[w];
    }
  }

  const std::uint64_t* node_mask(std::int32_t node) {
    const std::int32_t origin = s.origin[node];
    std::int32_t at = s.node_mask_of[origin];
    if (at < 0) {
      // The last place is shared by the nodes that come when all others are taken; it holds what
      // the cell needs.
      const bool keep = s.n_node_masks < s.max_node_masks;
      at = keep ? s.n_node_masks++ : s.max_node_masks;
      std::uint64_t* mask = s.node_masks + static_cast<std::size_t>(at) * t.n_words;
      if (keep) {
        s.node_mask_of[origin] = at;
        fill_node_mask(node, {0, t.n_words}, mask);
      } else {
        fill_node_mask(node, bag_words_, mask);
        fill_node_mask(node, query_words_, mask);
      }
    }
    return s.node_masks + static_cast<std::size_t>(at) * t.n_words;
  }

  void fill_node_mask(std::int32_t node, const Words& words, std::uint64_t* mask) const {
    const ProjectedNode<Value> split = s.node[node];
    const auto c = static_cast<std::size_t>(split.column);
    const Value* values = t.values + c * t.n_words * kBlock;
    for (std::uint32_t w = words.begin; w < words.end; ++w)
      mask[w] = less_mask(values + w * kBlock, split.cut);
    if (!split.missing_left) return;
    const std::uint64_t* missing = t.missing + c * t.n_words;
    for (std::uint32_t w = words.begin; w < words.end; ++w) mask[w] |= missing[w];
  }

  std::uint32_t count_left(const std::uint64_t* mask, const Words& words) const {
    std::uint32_t count = 0;
    for (std::uint32_t w = words.begin; w < words.end; ++w)
      count += count_bits(s.cell[w] & mask[w]);
    return count;
  }

  bool enough_bits(const std::uint64_t* mask, bool right, std::uint32_t count) const {
    if (count >= t.enough_places) return true;
    if (count == 0) return false;
    const std::uint64_t flip = right ? ~std::uint64_t{0} : 0;
    double total = 0;
    for (std::uint32_t w = bag_words_.begin; w < bag_words_.end; ++w) {
      for (std::uint64_t word = s.cell[w] & (mask[w] ^ flip); word != 0; word &= word - 1) {
        total += *part(w * 64 + first_bit(word));
      }
    }
    return total >= t.min_node_size;
  }

  void sum_bits() {
    if (has_sums_) return;
    clear(s.sums);
    for (std::uint32_t w = bag_words_.begin; w < bag_words_.end; ++w) {
      for (std::uint64_t word = s.cell[w]; word != 0; word &= word - 1) {
        add(s.sums, w * 64 + first_bit(word));
      }
    }
    has_sums_ = true;
  }

  // The bag loses `count` of its `of` places: those of (mask ^ flip). Few: subtract; else forget.
  void drop_bits(const std::uint64_t* mask, std::uint64_t flip, std::uint32_t count,
                 std::uint32_t of) {
    if (!has_sums_ || count == 0) return;
    has_sums_ = 8 * count <= of;
    if (!has_sums_) return;
    for (std::uint32_t w = bag_words_.begin; w < bag_words_.end; ++w) {
      for (std::uint64_t word = s.cell[w] & (mask[w] ^ flip); word != 0; word &= word - 1) {
        subtract(s.sums, w * 64 + first_bit(word));
      }
    }
  }

  void emit_bits(const std::uint64_t* mask, bool right) {
    average(s.sums);
    const std::uint64_t flip = right ? ~std::uint64_t{0} : 0;
    for (std::uint32_t w = query_words_.begin; w < query_words_.end; ++w) {
      for (std::uint64_t word = s.cell[w] & (mask == nullptr ? ~std::uint64_t{0} : mask[w] ^ flip);
           word != 0; word &= word - 1) {
        emit(w * 64 + first_bit(word));
      }
    }
  }

  Lists extract() {
    const Words bag = trimmed(bag_words_), query = trimmed(query_words_);
    return {0, list_bits(s.bag, bag), 0, list_bits(s.query, query)};
  }

  std::uint32_t list_bits(std::uint32_t* places, const Words& words) const {
    std::uint32_t n_words = 0;
    for (std::uint32_t w = words.begin; w < words.end; ++w) {
      s.spare[n_words] = w;
      n_words += s.cell[w] != 0;
    }
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < n_words; ++i) {
      const std::uint32_t w = s.spare[i];
      std::uint64_t word = s.cell[w];
      const auto here = count_bits(word);
      // Most words have few bits: three steps without a branch cover them.
      for (std::uint32_t k = 0; k < 3; ++k, word &= word - 1)
        places[count + k] = w * 64 + first_bit(word);
      for (std::uint32_t k = 3; k < here; ++k, word &= word - 1)
        places[count + k] = w * 64 + first_bit(word);
      count += here;
    }
    return count;
  }

  // ---- cells as lists ----------------------------------------------------------------------

  void walk_lists(const Lists& lists) {
    const std::size_t base = pending_.size;
    walk_list(lists);
    while (pending_.size > base) {
      const Pending right = pending_.data[--pending_.size];
      arena_.size = right.arena;
      restore(right);
      walk_list(right.lists);
    }
  }

  void walk_list(Lists cell) {
    for (;;) {
      if (cell.query_begin == cell.query_end) return;
      if (cell.bag_end - cell.bag_begin <= kBlock && cell.query_end - cell.query_begin <= kBlock)
        return walk_block(cell);
      const std::int32_t node = next_cut();
      if (node < 0) {
        sum_list(cell);
        return emit_list(cell.query_begin, cell.query_end);
      }
      const std::uint32_t bag = partition(s.bag, cell.bag_begin, cell.bag_end, node);
      const std::uint32_t query = partition(s.query, cell.query_begin, cell.query_end, node);
      const bool none_left = bag == cell.bag_begin && query == cell.query_begin;
      if (none_left || (bag == cell.bag_end && query == cell.query_end)) {
        follow(node, none_left);
        continue;
      }
      const bool left = enough_list(cell.bag_begin, bag), right = enough_list(bag, cell.bag_end);
      const bool left_queries = query > cell.query_begin, right_queries = cell.query_end > query;
      if ((!left && left_queries) || (!right && right_queries)) sum_list(cell);
      if (!left && left_queries) emit_list(cell.query_begin, query);
      if (!right && right_queries) emit_list(query, cell.query_end);
      const bool keep_left = left && left_queries, keep_right = right && right_queries;
      if (!keep_left && !keep_right) return;
      if (keep_left && keep_right)
        push_right({bag, cell.bag_end, query, cell.query_end}, node, arena_.size);
      has_sums_ = false;
      (keep_left ? cell.bag_end : cell.bag_begin) = bag;
      (keep_left ? cell.query_end : cell.query_begin) = query;
      follow(node, !keep_left);
    }
  }

  // Stable and without branches: places of the left side first.
  std::uint32_t partition(std::uint32_t* places, std::uint32_t begin, std::uint32_t end,
                          std::int32_t node) {
    const ProjectedNode<Value> split = s.node[node];
    const Value* values = t.values + static_cast<std::size_t>(split.column) * t.n_words * kBlock;
    std::uint32_t left = begin, right = 0;
    for (std::uint32_t k = begin; k < end; ++k) {
      const std::uint32_t place = places[k];
      const Value value = values[place];
      const bool goes_left =
          value < split.cut || (split.missing_left && value == std::numeric_limits<Value>::max());
      places[left] = place;
      s.spare[right] = place;
      left += goes_left;
      right += !goes_left;
    }
    std::memcpy(places + left, s.spare, right * sizeof(std::uint32_t));
    return left;
  }

  bool enough_list(std::uint32_t begin, std::uint32_t end) const {
    if (end - begin >= t.enough_places) return true;
    double total = 0;
    for (std::uint32_t k = begin; k < end; ++k) total += *part(s.bag[k]);
    return total >= t.min_node_size;
  }

  void sum_list(const Lists& cell) {
    if (has_sums_) return;
    clear(s.sums);
    for (std::uint32_t k = cell.bag_begin; k < cell.bag_end; ++k) add(s.sums, s.bag[k]);
    has_sums_ = true;
  }

  void emit_list(std::uint32_t begin, std::uint32_t end) {
    average(s.sums);
    for (std::uint32_t k = begin; k < end; ++k) emit(s.query[k]);
  }

  // ---- blocks: at most 64 places of the bag and 64 queries ----------------------------------

  // All cells of the block side by side. A cell is named by its first query: its rows are in
  // bag_of_ and queries_of_ there. Cuts are made without branches, which nobody could predict.
  void walk_block(const Lists& cell) {
    bag_ = s.bag + cell.bag_begin;
    query_ = s.query + cell.query_begin;
    n_bag_ = cell.bag_end - cell.bag_begin;
    n_query_ = cell.query_end - cell.query_begin;
    live_ = low_bits(n_query_);
    bag_of_[0] = low_bits(n_bag_);
    queries_of_[0] = live_;
    n_stopped_ = 0;
    ++s.stamp;
    if (t.whole_weights) weigh_block();
    reach_frontier();
    for (std::int32_t node; live_ != 0 && (node = next_node()) >= 0;) {
      const std::uint64_t reach = s.reach[node] & live_;
      if (reach != 0) split_block(node, reach);
    }
    for (; live_ != 0; live_ &= ~queries_of_[first_bit(live_)])
      stopped_[n_stopped_++] = {bag_of_[first_bit(live_)], queries_of_[first_bit(live_)]};
    for (std::uint32_t k = 0; k < n_stopped_; ++k) predict(stopped_[k]);
  }

  void reach_frontier() {
    for (std::uint32_t w = word_begin_; w < word_end_; ++w) {
      for (std::uint64_t word = s.frontier[w]; word != 0; word &= word - 1) {
        s.reach[w * 64 + first_bit(word)] = live_;
      }
    }
  }

  // The rows of a cell have taken the same sides everywhere, so they reach a node together.
  void split_block(std::int32_t node, std::uint64_t reach) {
    const int side = side_by_box(node);
    std::uint64_t left = side == 1 ? 0 : reach, right = side == 0 ? 0 : reach;
    if (side < 0) {
      const Sides sides = goes_left(node);
      if (t.whole_weights)
        cut_cells<true>(sides, reach);
      else
        cut_cells<false>(sides, reach);
      left &= sides.queries & live_;
      right &= ~sides.queries & live_;
    }
    for (std::int32_t c = s.node[node].child; c >= 0; c = s.node[c].next) {
      s.reach[c] = s.node[c].right ? right : left;
      set_bit(c, s.reach[c] != 0);
    }
  }

  Sides goes_left(std::int32_t node) {
    const ProjectedNode<Value> split = s.node[node];
    const Value* values = block_column(static_cast<std::size_t>(split.column));
    Sides left{less_mask(values, split.cut), less_mask(values + kBlock, split.cut)};
    if (split.missing_left) {
      constexpr Value missing = std::numeric_limits<Value>::max();
      left.bag |= ~less_mask(values, missing);
      left.queries |= ~less_mask(values + kBlock, missing);
    }
    return left;
  }

  // A column of the block, first the bag and then the queries, read when first needed.
  const Value* block_column(std::size_t column) {
    const std::size_t group = column / kGroup<Value>, first = group * kGroup<Value>;
    if (s.block_stamp[group] != s.stamp) {
      const Value* table = t.grouped + first * t.n_words * kBlock;
      Value* out = s.block_values + first * 2 * kBlock;
      transpose_rows(table, bag_, n_bag_, out);
      transpose_rows(table, query_, n_query_, out + kBlock);
      s.block_stamp[group] = s.stamp;
    }
    return s.block_values + column * 2 * kBlock;
  }

  // Cuts every cell that reaches the node; a side that is too small keeps the cell for its queries.
  // Without a branch if weights are whole, and in registers: the arrays might alias members.
  template <bool whole>
  void cut_cells(const Sides& left, std::uint64_t reach) {
    const Digits digits = digits_;
    std::uint64_t all_stopped = 0;
    std::uint32_t n_stopped = n_stopped_;
    while (reach != 0) {
      const std::uint32_t cell = first_bit(reach);
      const std::uint64_t bag = bag_of_[cell], queries = queries_of_[cell];
      reach &= ~queries;
      const std::uint64_t left_bag = bag & left.bag, right_bag = bag & ~left.bag;
      const std::uint64_t left_queries = queries & left.queries,
                          right_queries = queries & ~left.queries;
      const bool left_enough = whole ? digits.weight(left_bag) >= whole_min_ : enough(left_bag);
      const bool right_enough = whole ? digits.weight(right_bag) >= whole_min_ : enough(right_bag);
      const std::uint64_t stopped =
          (left_enough ? 0 : left_queries) | (right_enough ? 0 : right_queries);
      stopped_[n_stopped] = {bag, stopped};
      n_stopped += stopped != 0;
      all_stopped |= stopped;
      name_cell(left_bag, left_queries);
      name_cell(right_bag, right_queries);
    }
    n_stopped_ = n_stopped;
    live_ &= ~all_stopped;
  }

  void name_cell(std::uint64_t bag, std::uint64_t queries) {
    const std::uint32_t name = first_bit(queries);  // one past the names if there are none
    bag_of_[name] = bag;
    queries_of_[name] = queries;
  }

  bool enough(std::uint64_t bag) const {
    if (count_bits(bag) >= t.enough_places) return true;
    double total = 0;
    for (; bag != 0; bag &= bag - 1) total += *part(bag_[first_bit(bag)]);
    return total >= t.min_node_size;
  }

  void weigh_block() {
    const Value* excess = block_column(t.n_columns);
    std::uint64_t least[8];  // an excess of at least so much
    for (int k = 1; k < 8; ++k) least[k] = ~less_mask(excess, static_cast<Value>(k));
    digits_.ones =
        (least[1] & ~least[2]) | (least[3] & ~least[4]) | (least[5] & ~least[6]) | least[7];
    digits_.twos = (least[2] & ~least[4]) | least[6];
    digits_.fours = least[4];
  }

  void predict(const Sides& cell) {
    if (t.n_outputs == 1)
      sum_one_output(cell.bag);
    else
      sum_outputs(cell.bag);
    average(s.sums);
    for (std::uint64_t queries = cell.queries; queries != 0; queries &= queries - 1)
      emit(query_[first_bit(queries)]);
  }

  void sum_one_output(std::uint64_t bag) {  // in registers
    double weight = 0, total = 0;
    for (; bag != 0; bag &= bag - 1) {
      const double* row = t.part + 2 * bag_[first_bit(bag)];
      weight += row[0];
      total += row[1];
    }
    s.sums[0] = weight;
    s.sums[1] = total;
  }

  void sum_outputs(std::uint64_t bag) {
    clear(s.sums);
    for (; bag != 0; bag &= bag - 1) add(s.sums, bag_[first_bit(bag)]);
  }

  // ---- sums, means, predictions ------------------------------------------------------------

  void clear(double* sums) const {
    for (std::size_t o = 0; o <= t.n_outputs; ++o) sums[o] = 0;
  }

  // What a place of the bag adds to the sums: its weight and its weighted targets.
  const double* part(std::uint32_t place) const { return t.part + place * (t.n_outputs + 1); }

  void add(double* sums, std::uint32_t place) const {
    for (std::size_t o = 0; o <= t.n_outputs; ++o) sums[o] += part(place)[o];
  }

  void subtract(double* sums, std::uint32_t place) const {
    for (std::size_t o = 0; o <= t.n_outputs; ++o) sums[o] -= part(place)[o];
  }

  void average(const double* sums) {
    sums_ = sums;
    scale_ = 1 / sums[0];
  }

  void emit(std::uint32_t place) {
    double* out = s.prediction + (place - t.first_query) * t.n_outputs;
    for (std::size_t o = 0; o < t.n_outputs; ++o) out[o] = sums_[o + 1] * scale_;
  }

  // Once at the end and in the order of the rows: the sums of many subsets do not fit the cache.
  void add_predictions(double* sum, double* sum_squares) const {
    for (std::uint32_t k = 0; k < t.n_query; ++k) {
      const double* prediction = s.prediction + t.query_place[k] * t.n_outputs;
      const std::size_t row = t.query_row[k] * t.n_outputs;
      for (std::size_t o = row; o < row + t.n_outputs; ++o, ++prediction) {
        sum[o] += *prediction;
        sum_squares[o] += *prediction * *prediction;
      }
    }
  }

  const TreeData<Value>& t;
  ProjectionScratch<Value>& s;
  const std::uint32_t whole_min_;  // used where weights are whole
  const double* sums_ = nullptr;
  double scale_ = 0;
  std::uint32_t word_begin_ = 0, word_end_ = 0;
  Words bag_words_{}, query_words_{};  // where the current cell has bits, while it is large
  bool has_sums_ = false;              // s.sums are those of the current cell
  Buffer<Pending> pending_;
  Buffer<std::uint64_t> arena_;
  Buffer<BoxChange> undo_;
  const std::uint32_t *bag_ = nullptr, *query_ = nullptr;
  std::uint32_t n_bag_ = 0, n_query_ = 0;
  std::uint64_t live_ = 0;  // the queries of a block that still move
  std::uint64_t bag_of_[kBlock + 1], queries_of_[kBlock + 1];
  std::uint32_t n_stopped_ = 0;
  Sides stopped_[kBlock + 1];
  Digits digits_{};
};

template <class Value>
bool project_tree(const TreeData<Value>& tree, ProjectionScratch<Value>& scratch,
                  const std::uint64_t* subsets, std::size_t n_subsets, std::size_t subset_words,
                  std::size_t n_rows, double* sum, double* sum_squares, bool (*interrupted)(void*),
                  void* context) {
  Projection<Value> projection(tree, scratch);
  for (std::size_t k = 0; k < n_subsets; ++k) {
    if (interrupted(context)) return false;
    projection.run(subsets + k * subset_words, sum + k * n_rows * tree.n_outputs,
                   sum_squares + k * n_rows * tree.n_outputs);
  }
  return true;
}

}  // namespace
}  // namespace shaff
