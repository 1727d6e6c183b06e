#include "runtime/interp/report.h"

#include "support/error.h"

namespace tilewright::interp {

namespace {

std::string join(std::span<const int64_t> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += fmt::format("{}{}", i ? ", " : "", values[i]);
  return out;
}

std::string shape_text(const AccessSite& site, const Storage& storage) {
  return fmt::format("{} {}{}", to_string(site.tile->space), to_string(site.tile->dtype),
                     "[" + join(storage.shape) + "]");
}

Error with_declaration(Error error, const AccessSite& site, const Storage& storage) {
  return std::move(error).note(fmt::format("{}  {}", site.tile->name, shape_text(site, storage)), site.tile->loc);
}

}  // namespace

std::string coordinates_text(std::span<const int64_t> coordinates) {
  return coordinates.empty() ? "" : "[" + join(coordinates) + "]";
}
std::string vector_text(std::span<const int64_t> values) { return "(" + join(values) + ")"; }
std::string block_text(std::span<const int64_t> block) { return "block " + vector_text(block); }

std::string element_text(const AccessSite& site, const Storage& storage, size_t at) {
  std::vector<int64_t> coordinates(storage.shape.size());
  for (size_t d = storage.shape.size(); d-- > 0;) {
    coordinates[d] = int64_t(at % size_t(storage.shape[d]));
    at /= size_t(storage.shape[d]);
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

const char* verb(uint8_t how) {
  if (how & uint8_t(Touching::write)) return "writes";
  return how & uint8_t(Touching::atomic) ? "updates" : "reads";
}

}  // namespace

void throw_block_conflict(const AccessSite& site, const Storage& storage, size_t at, Touching how,
                          const BlockWatch::Touch& other, const BlockNumber& block) {
  const std::string here = block_text(block_coordinates(block));
  const std::string there = block_text(block_coordinates({other.block, block.grid}));
  Error error = invalid_kernel(site.loc, "{} {} {}, which {} {}: blocks run in any order", here, verb(uint8_t(how)),
                               element_text(site, storage, at), there, verb(other.how));
  std::move(error).note(fmt::format("{} {} it at {}", there, verb(other.how), other.site->loc.to_string()));
  throw with_declaration(std::move(error), site, storage)
      .hint("give each block elements of its own, or pass them on to a second kernel");
}

std::string value_text(const Snapshot& snapshot) {
  if (!(snapshot.state & kInitialised)) return "nothing";
  return snapshot.storage->holds_floats ? fmt::format("{}", snapshot.cell.f) : fmt::format("{}", snapshot.cell.i);
}

void throw_outside(const AccessSite& site, std::span<const int64_t> at, bool is_store, const Storage& storage,
                   std::span<const int64_t> block) {
  throw with_declaration(
      invalid_kernel(site.loc, "{} of {}{} is outside {}, in {}", is_store ? "store" : "load", site.tile->name,
                     coordinates_text(at), shape_text(site, storage), block_text(block)),
      site, storage)
      .hint("on-chip tiles have no safe value: guard the access with a condition, or make the tile larger");
}

void throw_uninitialised(const AccessSite& site, std::span<const int64_t> at, const Storage& storage,
                         std::span<const int64_t> block) {
  const bool local = site.tile->space == ir::Space::local;
  throw with_declaration(invalid_kernel(site.loc, "{}{} of {} is read before it is written, in {}", site.tile->name,
                                        coordinates_text(at), shape_text(site, storage), block_text(block)),
                         site, storage)
      .hint(local ? "set it first; a local tile written in a parallel loop is private to each iteration"
                  : "clear or fill the tile, or copy into it, before the first read");
}

}  // namespace tilewright::interp
