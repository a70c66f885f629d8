// The rows of a tree as the kernel reads them: at places, with their values by number of cuts.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "aligned_array.hpp"
#include "block_mask.hpp"
#include "level_order.hpp"
#include "shaff/projected_forest.hpp"

namespace shaff {
namespace {

// The values of one tree's columns at the places of its rows, and its cuts in the same numbers.
// SIMD compares are signed, hence the shift; the largest number stands for a missing value.
template <class Value>
struct PlacedValues {
  static constexpr std::size_t most_cuts =
      static_cast<std::size_t>(std::numeric_limits<Value>::max()) * 2 - 1;
  static Value number(std::size_t count) {
    return static_cast<Value>(static_cast<std::int64_t>(count) + std::numeric_limits<Value>::min());
  }

  AlignedArray<Value> memory, grouped_memory;
  std::size_t n_columns = 0;
  Value *values = nullptr, *grouped = nullptr;
  std::vector<Value> cut;
  std::vector<std::uint8_t> has_missing;
  std::vector<std::uint64_t> missing;

  std::size_t n_all() const {  // with that of the weights, in full groups
    return (n_columns / kGroup<Value> + 1) * kGroup<Value>;
  }

  void describe(TreeData<Value>& data) const {
    data.n_columns = n_columns;
    data.values = values;
    data.grouped = grouped;
    data.cut = cut.data();
    data.has_missing = has_missing.data();
    data.missing = missing.data();
  }
};

// The rows of one tree at their places: the bag, then, from a word boundary on, the queries.
template <class Code>
class TreeRows {
 public:
  template <class Value>
  void place(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t tree,
             const LevelOrder& order, PlacedValues<Value>& placed) {
    const std::size_t n_places = n_words() * kBlock, n_columns = order.columns.size();
    placed.n_columns = n_columns;
    placed.values = placed.memory.resize(placed.n_all() * n_places);
    placed.has_missing.assign(n_columns, 0);
    placed.missing.assign(n_columns * n_words(), 0);
    placed.cut.clear();
    for (const std::uint32_t cut : order.cut) placed.cut.push_back(placed.number(cut));
    for (std::size_t c = 0; c < n_columns; ++c) {
      const std::int32_t column = order.columns[c];
      placed.has_missing[c] = rows.has_missing[static_cast<std::size_t>(column)];
      count_cuts(order.cuts[c], rows.n_rows);
      place_column(rows.column(column), input.ranks(tree, column), placed.values + c * n_places,
                   placed.has_missing[c] ? &placed.missing[c * n_words()] : nullptr);
    }
    std::copy(excess_.begin(), excess_.end(), placed.values + n_columns * n_places);
    group_columns(placed);
  }

  // A block reads its rows; sixteen one-byte values of a row are read at once. A group more than
  // the places have: lists may name the place after the last (bit_cells.hpp, `list_bits`).
  template <class Value>
  void group_columns(PlacedValues<Value>& placed) const {
    constexpr std::size_t width = kGroup<Value>;
    placed.grouped = placed.values;
    if constexpr (width > 1) {
      const std::size_t n_places = n_words() * kBlock, n_all = placed.n_all();
      placed.grouped = placed.grouped_memory.resize((n_all * n_places) + width);
      for (std::size_t first = 0; first < n_all * n_places; first += width * n_places)
        group_rows(placed.values + first, n_places, placed.grouped + first);
    }
  }

  std::size_t first_query() const { return (bag_.size() + kBlock - 1) / kBlock * kBlock; }
  std::size_t n_words() const { return (first_query() + query_.size() + kBlock - 1) / kBlock; }
  bool idle() const { return bag_.empty() || query_.empty(); }
  void assign(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t tree) {
    assign_rows(input, rows, tree);
    weigh(input.min_node_size);
  }

  // Whole weights of at least 1 and a small whole min_node_size let the kernel count in bits.
  void weigh(double min_node_size) {
    excess_.clear();
    if (least_weight_ < 1 || min_node_size < 1 || min_node_size > 8 ||
        min_node_size != std::floor(min_node_size))
      return;
    for (const double weight : weight_) {
      if (weight != std::floor(weight)) return excess_.clear();
      excess_.push_back(static_cast<std::uint8_t>(std::min(weight, min_node_size) - 1));
    }
  }

  template <class Value>
  void describe(TreeData<Value>& data) const {
    data.n_bag = static_cast<std::uint32_t>(bag_.size());
    data.n_query = static_cast<std::uint32_t>(query_.size());
    data.first_query = static_cast<std::uint32_t>(first_query());
    data.n_words = static_cast<std::uint32_t>(n_words());
    data.query_row = query_row_.data();
    data.query_place = query_place_.data();
    data.part = part_.data();
    data.enough_places = enough_places(data.min_node_size);
    data.whole_weights = !excess_.empty();
  }

 private:
  std::uint32_t enough_places(double min_node_size) const {
    const double places = std::ceil(min_node_size / least_weight_);
    return places < 4e9 ? static_cast<std::uint32_t>(places) : UINT32_MAX;
  }

  // Rows of one leaf get neighbouring places: most projected cells are made of few leaves.
  void assign_rows(const ProjectionInput& input, const CodedRows<Code>& rows, std::size_t tree) {
    const auto multiplicity = input.bags.subspan(tree * rows.n_rows, rows.n_rows);
    bag_.clear();
    query_.clear();
    weight_.clear();
    part_.clear();
    least_weight_ = std::numeric_limits<double>::infinity();
    for (const std::uint32_t i : by_leaf(input, rows, tree)) {
      if (multiplicity[i] == 0 && input.is_query[i]) query_.push_back(i);
      const double weight = multiplicity[i] * input.row_weight[i];
      if (weight <= 0) continue;
      bag_.push_back(i);
      weight_.push_back(weight);
      part_.push_back(weight);
      least_weight_ = std::min(least_weight_, weight);
      for (std::size_t o = 0; o < input.n_outputs; ++o)
        part_.push_back(weight * input.targets[i * input.n_outputs + o]);
    }
    place_of_.resize(rows.n_rows);
    for (std::uint32_t k = 0; k < query_.size(); ++k) place_of_[query_[k]] = k;
    query_row_.clear();
    query_place_.clear();
    for (std::uint32_t i = 0; i < rows.n_rows; ++i) {
      if (multiplicity[i] != 0 || !input.is_query[i]) continue;
      query_row_.push_back(i);
      query_place_.push_back(place_of_[i]);
    }
  }

  // All rows, those of one leaf together, leaves from left to right: the rows are partitioned down
  // the tree.
  const std::vector<std::uint32_t>& by_leaf(const ProjectionInput& input,
                                            const CodedRows<Code>& rows, std::size_t tree) {
    const TreeView nodes = input.forest.tree(tree);
    sorted_.resize(rows.n_rows);
    spare_.resize(rows.n_rows);
    std::iota(sorted_.begin(), sorted_.end(), 0u);
    struct Entry {
      std::int32_t node;
      std::size_t begin, end;
    };
    std::vector<Entry> stack{{0, 0, rows.n_rows}};
    while (!stack.empty()) {
      const Entry entry = stack.back();
      stack.pop_back();
      const std::int32_t node = entry.node, feature = nodes.feature[node];
      if (feature < 0 || entry.end - entry.begin < 2) continue;
      const Code* column = rows.column(feature);
      const std::uint32_t* ranks = input.ranks(tree, feature);
      const std::uint32_t cut = nodes.cut[node];
      std::size_t split = 0;
      if (ranks != nullptr || rows.has_missing[static_cast<std::size_t>(feature)]) {
        const bool missing_left = nodes.missing_left[node];
        split = partition(entry.begin, entry.end, [&](std::uint32_t row) {
          const Code code = column[row];
          if (code == CodedRows<Code>::missing) return missing_left;
          return (ranks == nullptr ? code : ranks[code]) < cut;
        });
      } else {
        split = partition(entry.begin, entry.end,
                          [column, cut](std::uint32_t row) { return column[row] < cut; });
      }
      stack.push_back({nodes.left[node], entry.begin, split});
      stack.push_back({nodes.right[node], split, entry.end});
    }
    return sorted_;
  }

  template <class GoesLeft>  // stable and without branches
  std::size_t partition(std::size_t begin, std::size_t end, GoesLeft goes_left) {
    std::size_t left = begin, right = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const std::uint32_t row = sorted_[k];
      const bool is_left = goes_left(row);
      sorted_[left] = row;
      spare_[right] = row;
      left += is_left;
      right += !is_left;
    }
    std::copy_n(spare_.begin(), right, sorted_.begin() + static_cast<std::ptrdiff_t>(left));
    return left;
  }

  // How many of the cuts are <= code: below_[code], and all of them for codes past the table.
  // Codes are ranks and so are the cuts, hence a table; cuts far above the number of rows, which
  // no ranking makes, are searched instead.
  void count_cuts(const std::vector<std::uint32_t>& cuts, std::size_t n_rows) {
    below_.clear();
    cuts_ = &cuts;
    has_table_ = cuts.empty() || cuts.back() <= 4 * n_rows + 65536;
    if (!has_table_) return;
    for (std::uint32_t k = 0; k < cuts.size(); ++k) below_.resize(cuts[k], k);
  }

  std::size_t cuts_below(std::uint32_t rank) const {
    if (rank < below_.size()) return below_[rank];
    if (has_table_) return cuts_->size();
    return static_cast<std::size_t>(std::upper_bound(cuts_->begin(), cuts_->end(), rank) -
                                    cuts_->begin());
  }

  template <class Value>
  void place_column(const Code* column, const std::uint32_t* ranks, Value* values,
                    std::uint64_t* missing) const {
    const auto number = [&](std::uint32_t row) {
      const Code code = column[row];
      if (missing != nullptr && code == CodedRows<Code>::missing)
        return std::numeric_limits<Value>::max();
      const std::uint32_t rank = ranks == nullptr ? code : ranks[code];
      return PlacedValues<Value>::number(cuts_below(rank));
    };
    std::fill(values, values + n_words() * kBlock, Value{0});
    for (std::size_t k = 0; k < bag_.size(); ++k) values[k] = number(bag_[k]);
    for (std::size_t k = 0; k < query_.size(); ++k) values[first_query() + k] = number(query_[k]);
    if (missing == nullptr) return;
    for (std::size_t k = 0; k < n_words() * kBlock; ++k) {
      if (values[k] == std::numeric_limits<Value>::max())
        missing[k / kBlock] |= std::uint64_t{1} << (k % kBlock);
    }
  }

  std::vector<std::uint32_t> bag_, query_, query_row_, query_place_, place_of_, sorted_, spare_;
  std::vector<double> weight_, part_;
  double least_weight_ = 0;
  std::vector<std::uint8_t> excess_;
  std::vector<std::uint32_t> below_;
  const std::vector<std::uint32_t>* cuts_ = nullptr;
  bool has_table_ = true;
};

}  // namespace
}  // namespace shaff
