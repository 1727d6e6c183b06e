#include "runtime/interp/report.h"

#include "support/error.h"

namespace tilewright::interp {

namespace {

std::string join(std::span<const int64_t> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += fmt::format("{}{}", i ? ", " : "", values[i]);
  return out;
}

std::string shape_text(const AccessSite& site, const Array& array) {
  return fmt::format("{} {}{}", to_string(site.tile->space), to_string(site.tile->dtype),
                     "[" + join(array.shape) + "]");
}

Error with_declaration(Error error, const AccessSite& site, const Array& array) {
  return std::move(error).note(fmt::format("{}  {}", site.tile->name, shape_text(site, array)), site.tile->loc);
}

}  // namespace

std::string coordinates_text(std::span<const int64_t> coordinates) {
  return coordinates.empty() ? "" : "[" + join(coordinates) + "]";
}
std::string vector_text(std::span<const int64_t> values) { return "(" + join(values) + ")"; }
std::string block_text(std::span<const int64_t> block) { return "block " + vector_text(block); }

std::string element_text(const AccessSite& site, const Array& array, size_t at) {
  std::vector<int64_t> coordinates(array.shape.size());
  for (size_t d = array.shape.size(); d-- > 0;) {
    coordinates[d] = int64_t(at % size_t(array.shape[d]));
    at /= size_t(array.shape[d]);
  }
  return site.tile->name + coordinates_text(coordinates);
}

namespace {

std::vector<int64_t> block_coordinates(const BlockNumber& block) {
  std::vector<int64_t> out;
  int64_t rest = block.number;
  for (int64_t extent : block.grid) {
    out.push_back(rest % extent);
    rest /= extent;
  }
  return out;
}

// What a block does to an element: "writes X[0]", "updates X[0] by atomic_add"; or without its name.
std::string deed(AccessHow how, const std::string& element) {
  const char* verb = !how.changes() ? "reads" : how.is_atomic() ? "updates" : "writes";
  return verb + (element.empty() ? "" : " " + element) + (how.is_atomic() ? " by " + how.text() : "");
}

}  // namespace

void throw_block_conflict(const AccessSite& site, const Array& array, size_t at, AccessHow how,
                          const BlockWatch::Conflict& other, const BlockNumber& block) {
  const std::string here = block_text(block_coordinates(block));
  const std::string there = block_text(block_coordinates({other.block, block.grid}));
  Error error = invalid_kernel(site.loc, "{} {}, which {} {}: blocks run in any order", here,
                               deed(how, element_text(site, array, at)), there, deed(other.how, ""));
  std::move(error).note(fmt::format("{} {} at {}", there, deed(other.how, "it"), other.site->loc.to_string()));
  throw with_declaration(std::move(error), site, array)
      .hint(how.is_atomic() || other.how.is_atomic()
                ? "make all of them atomics of one kind, or put them into kernels one after the other"
                : "give each block elements of its own, or pass them on to a second kernel");
}

std::string value_text(const Snapshot& snapshot) {
  if (!(snapshot.state & kInitialised)) return "nothing";
  if (snapshot.storage->raw()) return fmt::format("bits {:#x}", uint64_t(snapshot.cell.i));
  return snapshot.storage->holds_floats ? fmt::format("{}", snapshot.cell.f) : fmt::format("{}", snapshot.cell.i);
}

void throw_outside(const AccessSite& site, std::span<const int64_t> at, bool is_store, const Array& array,
                   std::span<const int64_t> block) {
  throw with_declaration(
      invalid_kernel(site.loc, "{} of {}{} is outside {}, in {}", is_store ? "store" : "load", site.tile->name,
                     coordinates_text(at), shape_text(site, array), block_text(block)),
      site, array)
      .hint("on-chip tiles have no safe value: guard the access with a condition, or make the tile larger");
}

void throw_uninitialised(const AccessSite& site, std::span<const int64_t> at, const Array& array,
                         std::span<const int64_t> block) {
  const bool local = site.tile->space == ir::Space::local;
  throw with_declaration(invalid_kernel(site.loc, "{}{} of {} is read before it is written, in {}", site.tile->name,
                                        coordinates_text(at), shape_text(site, array), block_text(block)),
                         site, array)
      .hint(local ? "set it first; a local tile written in a parallel loop is private to each iteration"
                  : "clear or fill the tile, or copy into it, before the first read");
}

void throw_conflict(const AccessLog::Conflict& conflict, const Array& array, size_t at,
                    std::span<const int64_t> block) {
  const AccessLog::Party &a = conflict.earlier, &b = conflict.later;
  Error error = invalid_kernel(
      b.site->loc, "{} is accessed by {} in iteration {} and by {} in iteration {} of a parallel loop, in {}",
      element_text(*b.site, array, at), a.how.text(), vector_text(a.actor), b.how.text(), vector_text(b.actor),
      block_text(block));
  std::move(error).note(fmt::format("{} in iteration {}", a.how.text(), vector_text(a.actor)), a.site->loc);
  throw with_declaration(std::move(error), *b.site, array)
      .hint(a.how.is_atomic() || b.how.is_atomic()
                ? "make all of them atomics of one kind, or put them into loops one after the other"
                : "make the iterations independent, or use a serial loop");
}

}  // namespace tilewright::interp
