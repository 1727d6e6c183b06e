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
