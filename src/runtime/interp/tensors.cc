#include "runtime/interp/tensors.h"

#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_set>
#include <utility>

namespace tilewright::interp {

namespace {

// Calls f(row-major number, offset in elements) for every element.
template <class F>
void for_each_element(const BoundTensor& tensor, F f) {
  const int64_t count = tensor.num_elems();
  std::vector<int64_t> at(tensor.shape.size(), 0);
  int64_t offset = 0;
  for (int64_t n = 0; n < count; ++n) {
    f(size_t(n), offset);
    for (size_t d = at.size(); d-- > 0;) {
      offset += tensor.strides[d];
      if (++at[d] < tensor.shape[d]) break;
      offset -= tensor.strides[d] * at[d];
      at[d] = 0;
    }
  }
}

bool same_view(const BoundTensor& a, const BoundTensor& b) {
  return a.data == b.data && a.shape == b.shape && a.strides == b.strides;
}

// True when every stride steps over all that the smaller ones reach, so that no two elements share an address.
bool strides_nest(const BoundTensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // |stride|, extent
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] > 1) dims.emplace_back(std::abs(tensor.strides[d]), tensor.shape[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, extent] : dims) {
    if (stride <= reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

// Whether an element of `a` shares memory with one of `b`, or, without `b`, with another element of `a`.
bool shares_memory(const BoundTensor& a, int a_bytes, const BoundTensor* b, int b_bytes) {
  const int granule = b ? std::min(a_bytes, b_bytes) : a_bytes;  // elements are aligned to their size
  std::unordered_set<uintptr_t> seen;
  bool repeats = false, shared = false;
  const auto for_each_granule = [granule](const BoundTensor& tensor, int bytes, auto f) {
    for_each_element(tensor, [&](size_t, int64_t offset) {
      const auto address = reinterpret_cast<uintptr_t>(tensor.data) + uintptr_t(offset * bytes);
      for (int k = 0; k < bytes; k += granule) f((address + uintptr_t(k)) / uintptr_t(granule));
    });
  };
  for_each_granule(a, a_bytes, [&](uintptr_t unit) { repeats |= !seen.insert(unit).second; });
  if (b == nullptr) return repeats;
  for_each_granule(*b, b_bytes, [&](uintptr_t unit) { shared |= seen.count(unit) > 0; });
  return shared;
}

// Views are not judged: they share with what they are views of, and not more than that does.
void check_sharing(const ir::Program& program, const BoundArguments& bound, const std::vector<bool>& written) {
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    if (program.tensors[i].kind == ir::TensorKind::view) continue;
    const BoundTensor& a = bound.tensors[i];
    const int a_bytes = bytes_of(program.tensors[i].dtype);
    if (written[i] && a.num_elems() > 0 && !strides_nest(a) && shares_memory(a, a_bytes, nullptr, 0)) {
      throw unsupported(program.tensors[i].loc, "{} is written, but several of its elements share an address",
                        program.tensors[i].name);
    }
    for (size_t j = 0; j < i; ++j) {
      if (program.tensors[j].kind == ir::TensorKind::view) continue;
      const BoundTensor& b = bound.tensors[j];
      const int b_bytes = bytes_of(program.tensors[j].dtype);
      if ((!written[i] && !written[j]) || (same_view(a, b) && program.tensors[i].dtype == program.tensors[j].dtype))
        continue;
      const AddressRange ra = range_of(a, program.tensors[i].dtype), rb = range_of(b, program.tensors[j].dtype);
      if (ra.end <= rb.begin || rb.end <= ra.begin || !shares_memory(a, a_bytes, &b, b_bytes)) continue;
      throw unsupported(program.tensors[i].loc, "{} and {} overlap in memory and one of them is written",
                        program.tensors[j].name, program.tensors[i].name);
    }
  }
}

}  // namespace

Tensors::Tensors(const ir::Program& program, const BoundArguments& bound, const std::vector<bool>& written,
                 bool tracked)
    : program_(program), bound_(bound), owner_(program.tensors.size()), storages_(program.tensors.size()) {
  find_owners();
  for (size_t row = 0; row < owner_.size(); ++row) {
    if (owner_[row] == row) allocate(row, tracked);
  }
  // After the sizes are known to fit, as it walks all elements.
  check_sharing(program, bound, written);
  for (size_t row = 0; row < owner_.size(); ++row) {
    if (owner_[row] == row && program.tensors[row].kind != ir::TensorKind::workspace) load(row, tracked);
  }
}

// A view uses the storage of its tensor; a tensor that is passed twice has one storage.
void Tensors::find_owners() {
  const std::vector<ir::Tensor>& tensors = program_.tensors;
  for (size_t row = 0; row < owner_.size(); ++row) {
    owner_[row] = row;
    if (tensors[row].kind == ir::TensorKind::view) continue;
    for (size_t other = 0; other < row && owner_[row] == row; ++other) {
      const bool same = tensors[row].dtype == tensors[other].dtype && tensors[other].kind != ir::TensorKind::view &&
                        same_view(bound_.tensors[row], bound_.tensors[other]);
      if (same) owner_[row] = owner_[other];
    }
  }
  for (size_t row = 0; row < owner_.size(); ++row) {
    if (tensors[row].kind == ir::TensorKind::view) owner_[row] = owner_[size_t(tensors[row].view_of)];
  }
}

void Tensors::allocate(size_t row, bool tracked) {
  storages_[row] = std::make_unique<Storage>();
  const ir::Tensor& declared = program_.tensors[row];
  std::vector<DType> dtypes;
  for (size_t other = 0; other < owner_.size(); ++other) {
    if (owner_[other] == row) dtypes.push_back(program_.tensors[other].dtype);
  }
  storages_[row]->resize(declared.dtype, dtypes, size_t(bound_.tensors[row].num_elems()), tracked, declared.name,
                         declared.loc);
}

void Tensors::load(size_t row, bool tracked) {
  Storage& storage = *storages_[row];
  const ir::Tensor& declared = program_.tensors[row];
  const BoundTensor& tensor = bound_.tensors[row];
  const Array elements = array(int(row));
  for_each_element(tensor, [&](size_t at, int64_t offset) {
    const auto* address = static_cast<const std::byte*>(tensor.data) + offset * bytes_of(declared.dtype);
    if (storage.raw())
      elements.put_bytes(at, address, false);
    else if (storage.holds_floats)
      storage.cells[at].f = load_float(declared.dtype, address);
    else
      storage.cells[at].i = load_int(declared.dtype, address);
    for (size_t k = 0; k < elements.units; ++k) {
      storage.states[at * elements.units + k] = kInitialised;
      if (!tracked || !storage.holds_floats) continue;
      storage.bounds[at * elements.units + k] = single_term(elements.load_float<Plain>(at), 0).bound;
    }
  });
}

void Tensors::copy_back() const {
  for (size_t row = 0; row < storages_.size(); ++row) {
    if (storages_[row] && program_.tensors[row].kind != ir::TensorKind::workspace) copy_back(row);
  }
}

void Tensors::copy_back(size_t row) const {
  const Storage& storage = *storages_[row];
  const DType dtype = program_.tensors[row].dtype;
  const BoundTensor& tensor = bound_.tensors[row];
  const Array elements = array(int(row));
  for_each_element(tensor, [&](size_t at, int64_t offset) {
    auto* address = static_cast<std::byte*>(tensor.data) + offset * bytes_of(dtype);
    for (size_t k = 0; storage.raw() && k < elements.units; ++k) {
      const size_t unit = at * elements.units + k;
      const auto width = size_t(storage.unit_bytes);
      if (storage.states[unit] & kWritten) std::memcpy(address + k * width, &storage.cells[unit].i, width);
    }
    if (storage.raw() || !(storage.states[at] & kWritten)) return;
    if (storage.holds_floats)
      store_float(dtype, address, storage.cells[at].f);
    else
      store_int(dtype, address, storage.cells[at].i);
  });
}

}  // namespace tilewright::interp
