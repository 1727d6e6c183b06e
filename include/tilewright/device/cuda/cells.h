#pragma once
// Names of single elements: of global memory a pointer, of shared memory a SharedCell, so that the instruction for the
// memory is chosen where the text is compiled.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

template <class T>
struct SharedCell {
  u32 address;
};
template <class T>
TW_ATOM SharedCell<T> shared_cell(T* at) {
  return {shared_address(at)};
}
// The same memory as an element of another type.
template <class U, class T>
TW_ATOM U* cell_as(T* at) {
  return reinterpret_cast<U*>(at);
}
template <class U, class T>
TW_ATOM SharedCell<U> cell_as(SharedCell<T> at) {
  return {at.address};
}

}  // namespace tilewright::device
