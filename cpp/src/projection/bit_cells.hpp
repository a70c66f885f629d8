// Large cells: a bit set over all places of the tree, where a cut is an AND with a mask that all
// subsets share.
//
// Invariants
// - The current cell has its bits in the words of its BitCell, the bag's and the queries' apart;
//   words outside may hold anything.
// - A mask has a bit where a row goes left at its node. A kept mask is right in all words; the one
//   that has the last place only in the words of the cell that asked for it, so it is used before
//   the next is asked for.
#pragma once

#include <cstring>

#include "block_mask.hpp"
#include "cell_mean.hpp"
#include "list_cells.hpp"
#include "splits.hpp"

namespace shaff {
namespace {

template <class Value>
class BitCells {
 public:
  BitCells(const TreeData<Value>& tree, const BitScratch& scratch, const ListScratch& lists,
           Splits<Value>& splits, CellMean<Value>& mean, ListCells<Value>& list_cells)
      : tree_(tree),
        scratch_(scratch),
        lists_(lists),
        splits_(splits),
        mean_(mean),
        list_cells_(list_cells) {}

  // Walks the cell of all rows and every cell that it is cut in.
  void walk_all() {
    walk(
        {fill(0, tree_.n_bag), fill(tree_.first_query, tree_.n_query), tree_.n_bag, tree_.n_query});
    while (splits_.n_pending() > 0) {
      const auto right = splits_.pop();
      const std::uint64_t* stored = splits_.words(right);
      stored = load(right.bits.bag, stored);
      load(right.bits.queries, stored);
      walk(right.bits);
    }
  }

 private:
  void walk(BitCell cell) {
    mean_.forget();
    for (;;) {
      if (cell.n_query == 0) return;  // nobody to predict
      const std::uint32_t span = cell.bag.size() + cell.queries.size();
      if ((cell.n_bag <= kBlock && cell.n_query <= kBlock) || cell.n_bag + cell.n_query <= span / 2)
        return list_cells_.walk_all(extract(cell));
      const std::int32_t node = splits_.next_cut();
      if (node < 0) {
        sum(cell);
        return emit(cell, nullptr, false);
      }
      const std::uint64_t* mask = node_mask(node, cell);
      const std::uint32_t bag = count_left(mask, cell.bag);
      const std::uint32_t query = count_left(mask, cell.queries);
      if (bag + query == 0 || bag + query == cell.n_bag + cell.n_query) {
        splits_.follow(node, bag + query == 0);
        continue;
      }
      const bool left = enough(cell, mask, false, bag),
                 right = enough(cell, mask, true, cell.n_bag - bag);
      if ((!left && query > 0) || (!right && query < cell.n_query)) sum(cell);
      if (!left && query > 0) emit(cell, mask, false);
      if (!right && query < cell.n_query) emit(cell, mask, true);
      const bool keep_left = left && query > 0, keep_right = right && query < cell.n_query;
      if (!keep_left && !keep_right) return;
      const BitCell right_cell{cell.bag, cell.queries, cell.n_bag - bag, cell.n_query - query};
      drop(cell, mask, keep_left, keep_left ? right_cell.n_bag : bag);
      if (keep_left && keep_right) {
        split(right_cell, mask, node);
      } else {
        keep_side(cell.bag, mask, keep_left);
        keep_side(cell.queries, mask, keep_left);
      }
      cell.bag = trimmed(cell.bag);
      cell.queries = trimmed(cell.queries);
      cell.n_bag = keep_left ? bag : right_cell.n_bag;
      cell.n_query = keep_left ? query : right_cell.n_query;
      splits_.follow(node, !keep_left);
    }
  }

  Words fill(std::uint32_t begin, std::uint32_t count) {  // begin: on a word boundary
    std::uint32_t word = begin / 64;
    for (; count >= 64; count -= 64) scratch_.cell[word++] = ~std::uint64_t{0};
    if (count > 0) scratch_.cell[word++] = low_bits(count);
    return {begin / 64, word};
  }

  // Fills words of the cell and returns what comes behind the stored ones.
  const std::uint64_t* load(const Words& words, const std::uint64_t* stored) {
    std::memcpy(scratch_.cell + words.begin, stored, words.size() * sizeof(std::uint64_t));
    return stored + words.size();
  }

  // Rows of one leaf are neighbours, so cells of large subsets fill few words: trim the others.
  Words trimmed(Words words) const {
    while (words.begin < words.end && scratch_.cell[words.begin] == 0) ++words.begin;
    while (words.begin < words.end && scratch_.cell[words.end - 1] == 0) --words.end;
    return words;
  }

  // The left side stays, the right one waits.
  void split(const BitCell& right, const std::uint64_t* mask, std::int32_t node) {
    const std::size_t start = splits_.arena_size();
    std::uint64_t* other = splits_.reserve_words(right.bag.size() + right.queries.size());
    const Words both[2] = {right.bag, right.queries};
    for (const Words& words : both) {
      split_words(scratch_.cell + words.begin, mask + words.begin, words.size(), other);
      other += words.size();
    }
    splits_.push_right(right, {}, node, start);
  }

  static void split_words(std::uint64_t* __restrict cell, const std::uint64_t* __restrict mask,
                          std::uint32_t count, std::uint64_t* __restrict other) {
    for (std::uint32_t w = 0; w < count; ++w) {
      other[w] = cell[w] & ~mask[w];
      cell[w] &= mask[w];
    }
  }

  void keep_side(const Words& words, const std::uint64_t* mask, bool left) {
    const std::uint64_t flip = left ? 0 : ~std::uint64_t{0};
    for (std::uint32_t w = words.begin; w < words.end; ++w) scratch_.cell[w] &= mask[w] ^ flip;
  }

  const std::uint64_t* node_mask(std::int32_t node, const BitCell& cell) {
    const std::int32_t origin = splits_.origin(node);
    std::int32_t at = scratch_.node_mask_of[origin];
    if (at < 0) {
      const bool keep = n_node_masks_ < scratch_.max_node_masks;
      at = keep ? n_node_masks_++ : scratch_.max_node_masks;
      std::uint64_t* mask = mask_at(at);
      if (keep) {
        scratch_.node_mask_of[origin] = at;
        fill_mask(node, {0, tree_.n_words}, mask);
      } else {
        fill_mask(node, cell.bag, mask);
        fill_mask(node, cell.queries, mask);
      }
    }
    return mask_at(at);
  }

  std::uint64_t* mask_at(std::int32_t at) const {
    return scratch_.node_masks + static_cast<std::size_t>(at) * tree_.n_words;
  }

  void fill_mask(std::int32_t node, const Words& words, std::uint64_t* mask) const {
    const ProjectedNode<Value> split = splits_.node(node);
    const Value* values = tree_.column_values(split.column);
    for (std::uint32_t w = words.begin; w < words.end; ++w)
      mask[w] = less_mask(values + w * kBlock, split.cut);
    if (!split.missing_left) return;
    const std::uint64_t* missing =
        tree_.missing + static_cast<std::size_t>(split.column) * tree_.n_words;
    for (std::uint32_t w = words.begin; w < words.end; ++w) mask[w] |= missing[w];
  }

  std::uint32_t count_left(const std::uint64_t* mask, const Words& words) const {
    std::uint32_t count = 0;
    for (std::uint32_t w = words.begin; w < words.end; ++w)
      count += count_bits(scratch_.cell[w] & mask[w]);
    return count;
  }

  // Calls `visit` with the places of one side of a cut; of both without a mask.
  template <class Visit>
  void each_place(const Words& words, const std::uint64_t* mask, bool right, Visit visit) const {
    const std::uint64_t flip = right ? ~std::uint64_t{0} : 0;
    for (std::uint32_t w = words.begin; w < words.end; ++w) {
      const std::uint64_t side = mask == nullptr ? ~std::uint64_t{0} : mask[w] ^ flip;
      for (std::uint64_t word = scratch_.cell[w] & side; word != 0; word &= word - 1)
        visit(w * 64 + first_bit(word));
    }
  }

  bool enough(const BitCell& cell, const std::uint64_t* mask, bool right,
              std::uint32_t count) const {
    if (count >= tree_.enough_places) return true;
    if (count == 0) return false;
    double total = 0;
    each_place(cell.bag, mask, right, [&](std::uint32_t place) { total += mean_.weight(place); });
    return total >= tree_.min_node_size;
  }

  void sum(const BitCell& cell) {
    if (mean_.is_known()) return;
    mean_.clear();
    each_place(cell.bag, nullptr, false, [&](std::uint32_t place) { mean_.add(place); });
    mean_.know();
  }

  // The bag loses `count` places, those of the other side. Few: subtract; else forget.
  void drop(const BitCell& cell, const std::uint64_t* mask, bool keep_left, std::uint32_t count) {
    if (!mean_.is_known() || count == 0) return;
    if (8 * count > cell.n_bag) return mean_.forget();
    each_place(cell.bag, mask, keep_left, [&](std::uint32_t place) { mean_.subtract(place); });
  }

  void emit(const BitCell& cell, const std::uint64_t* mask, bool right) {
    mean_.divide();
    each_place(cell.queries, mask, right, [&](std::uint32_t place) { mean_.emit(place); });
  }

  ListCell extract(const BitCell& cell) {
    const Words bag = trimmed(cell.bag), queries = trimmed(cell.queries);
    return {0, list_bits(lists_.bag, bag), 0, list_bits(lists_.query, queries)};
  }

  // Writes the places of a bit set and up to two more, of which some may be the one after the last
  // place of the tree: `ListScratch` has room for them and `TreeData::grouped` a row.
  std::uint32_t list_bits(std::uint32_t* places, const Words& words) const {
    std::uint32_t n_words = 0;
    for (std::uint32_t w = words.begin; w < words.end; ++w) {
      lists_.spare[n_words] = w;
      n_words += scratch_.cell[w] != 0;
    }
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < n_words; ++i) {
      const std::uint32_t w = lists_.spare[i];
      std::uint64_t word = scratch_.cell[w];
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

  const TreeData<Value>& tree_;
  const BitScratch scratch_;
  const ListScratch lists_;
  Splits<Value>& splits_;
  CellMean<Value>& mean_;
  ListCells<Value>& list_cells_;
  std::int32_t n_node_masks_ = 0;
};

}  // namespace
}  // namespace shaff
