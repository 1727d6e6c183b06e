#include "arguments.h"

#include "support/error.h"

#include <nanobind/ndarray.h>

#include <bit>

namespace tilewright::python {

namespace {

std::optional<DType> dtype_of_name(std::string_view name) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"bool", DType::boolean},       {"bool_", DType::boolean}, {"int8", DType::i8},
      {"int16", DType::i16},          {"int32", DType::i32},     {"int64", DType::i64},
      {"uint8", DType::u8},           {"uint16", DType::u16},    {"uint32", DType::u32},
      {"uint64", DType::u64},         {"float16", DType::f16},   {"bfloat16", DType::bf16},
      {"float32", DType::f32},        {"float64", DType::f64},   {"float8_e4m3fn", DType::f8e4m3},
      {"float8_e5m2", DType::f8e5m2},
  };
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_dtype(const std::string& name) {
  throw invalid_argument("an array has elements of {}, which no kernel takes", name)
      .hint("booleans, integers of 8 to 64 bits, float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2");
}

// One letter of the struct module's notation.
std::optional<DType> dtype_of_format(const Py_buffer& view) {
  std::string_view format = view.format ? view.format : "B";
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  const bool is_signed = std::string_view("bhilqn").find(format[0]) != std::string_view::npos;
  const bool is_unsigned = std::string_view("BHILQN").find(format[0]) != std::string_view::npos;
  const int bytes = int(view.itemsize);
  if (format[0] == '?') return DType::boolean;
  if (format[0] == 'e') return DType::f16;
  if (format[0] == 'f') return DType::f32;
  if (format[0] == 'd') return DType::f64;
  if (is_signed || is_unsigned) {
    return dtype_of_name((is_signed ? "int" : "uint") + std::to_string(8 * bytes));
  }
  return std::nullopt;
}

int64_t elements_of(int64_t stride_bytes, int64_t itemsize) {
  if (stride_bytes % itemsize == 0) return stride_bytes / itemsize;
  throw invalid_argument("an array has a stride of {} bytes, which is no multiple of its elements' {}", stride_bytes,
                         itemsize)
      .hint("copy it into a contiguous array");
}

[[noreturn]] void refuse_type(nb::handle value) {
  throw invalid_argument("a value of the Python type {} is passed to a kernel",
                         nb::cast<std::string>(nb::type_name(value.type())))
      .hint("pass numbers, and arrays of numpy, torch, cupy or jax, or what else speaks DLPack");
}

// A scalar of numpy, as the number of Python that it stands for. Those wider than Python's stay what they are.
HeldArgument from_scalar(nb::handle value) {
  const nb::object item = value.attr("item")();
  if (item.type().is(value.type())) refuse_type(value);
  return to_argument(item);
}

std::optional<HeldArgument> from_buffer(nb::handle value) {
  if (!PyObject_CheckBuffer(value.ptr())) return std::nullopt;
  Py_buffer view;
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();  // ml_dtypes' elements have no format there
    return std::nullopt;
  }
  struct Release {
    Py_buffer* view;
    ~Release() { PyBuffer_Release(view); }
  } release{&view};
  // numpy's scalars have a buffer too, which nothing can be written to.
  if (view.ndim == 0 && !nb::hasattr(value, "__setitem__") && nb::hasattr(value, "item")) {
    return from_scalar(value);
  }
  const std::optional<DType> dtype = dtype_of_format(view);
  if (!dtype) return std::nullopt;
  TensorView tensor{.data = view.buf, .dtype = *dtype, .shape = {}};
  for (int d = 0; d < view.ndim; ++d) {
    tensor.shape.push_back(view.shape[d]);
    tensor.strides.push_back(elements_of(view.strides[d], view.itemsize));
  }
  return HeldArgument{.argument = tensor, .keep = nb::borrow(value), .read_only = view.readonly != 0};
}

// The struct module and numpy say the order of bytes by a letter before the type.
void require_native_order(nb::handle value, std::string_view type) {
  constexpr char kForeign = std::endian::native == std::endian::little ? '>' : '<';
  if (type.empty() || type[0] != kForeign) return;
  throw invalid_argument("an array has elements of {}, whose bytes are in the order of other machines",
                         nb::cast<std::string>(nb::str(nb::object(value.attr("dtype")))))
      .hint("convert it: array.astype(array.dtype.newbyteorder('='))");
}

// numpy's arrays whose elements are of ml_dtypes.
std::optional<HeldArgument> from_array_interface(nb::handle value) {
  if (!nb::hasattr(value, "__array_interface__")) return std::nullopt;
  const nb::object interface = value.attr("__array_interface__");
  const auto name = nb::cast<std::string>(nb::str(nb::object(value.attr("dtype").attr("name"))));
  const std::optional<DType> dtype = dtype_of_name(name);
  if (!dtype) refuse_dtype(name);
  require_native_order(value, nb::cast<std::string>(interface["typestr"]));
  const nb::object data = interface["data"];
  TensorView tensor{.data = std::bit_cast<void*>(nb::cast<uintptr_t>(data[0])), .dtype = *dtype, .shape = {}};
  for (nb::handle extent : value.attr("shape")) tensor.shape.push_back(nb::cast<int64_t>(extent));
  for (nb::handle stride : value.attr("strides")) {
    tensor.strides.push_back(elements_of(nb::cast<int64_t>(stride), bytes_of(*dtype)));
  }
  return HeldArgument{.argument = tensor, .keep = nb::borrow(value), .read_only = nb::cast<bool>(data[1])};
}

// "torch.float16" -> float16.
std::optional<HeldArgument> from_torch(nb::handle value) {
  if (!nb::hasattr(value, "data_ptr") || !nb::hasattr(value, "stride")) return std::nullopt;
  const auto full_name = nb::cast<std::string>(nb::str(nb::object(value.attr("dtype"))));
  const std::string name = full_name.substr(full_name.rfind('.') + 1);
  const std::optional<DType> dtype = dtype_of_name(name);
  if (!dtype) refuse_dtype(full_name);
  const nb::object device = value.attr("device");
  const auto kind = nb::cast<std::string>(device.attr("type"));
  if (kind != "cpu" && kind != "cuda") {
    throw invalid_argument("a tensor lies on the device '{}'", kind).hint("kernels take tensors of cpu and cuda");
  }
  TensorView tensor{.data = std::bit_cast<void*>(nb::cast<uintptr_t>(value.attr("data_ptr")())),
                    .dtype = *dtype,
                    .shape = {},
                    .device = kind == "cuda" ? DeviceKind::cuda : DeviceKind::cpu};
  const nb::object index = device.attr("index");
  if (!index.is_none()) tensor.device_index = nb::cast<int>(index);
  for (nb::handle extent : value.attr("shape")) tensor.shape.push_back(nb::cast<int64_t>(extent));
  for (nb::handle stride : value.attr("stride")()) tensor.strides.push_back(nb::cast<int64_t>(stride));
  return HeldArgument{.argument = tensor, .keep = nb::borrow(value)};
}

std::optional<DType> dtype_of_dlpack(nb::dlpack::dtype type) {
  const std::string bits = std::to_string(int(type.bits));
  if (type.lanes != 1) return std::nullopt;
  switch (int(type.code)) {
    case 0: return dtype_of_name("int" + bits);
    case 1: return dtype_of_name("uint" + bits);
    case 2: return dtype_of_name("float" + bits);
    case 4: return type.bits == 16 ? std::optional(DType::bf16) : std::nullopt;
    case 6: return DType::boolean;
    case 10: return DType::f8e4m3;
    case 12: return DType::f8e5m2;
    default: return std::nullopt;
  }
}

// Memory that the CPU reads too is the CPU's.
DeviceKind device_of_dlpack(int device) {
  if (device == nb::device::cpu::value || device == nb::device::cuda_host::value) return DeviceKind::cpu;
  if (device == nb::device::cuda::value || device == nb::device::cuda_managed::value) return DeviceKind::cuda;
  throw invalid_argument("an array lies on a device of DLPack's kind {}", device)
      .hint("kernels take arrays of cpu and cuda");
}

std::optional<HeldArgument> from_dlpack(nb::handle value) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast<nb::ndarray<nb::ro>>(value, array)) return std::nullopt;
  const std::optional<DType> dtype = dtype_of_dlpack(array.dtype());
  if (!dtype) refuse_dtype(nb::cast<std::string>(nb::str(nb::object(value.attr("dtype")))));
  TensorView tensor{.data = const_cast<void*>(array.data()), .dtype = *dtype, .shape = {}};
  for (size_t d = 0; d < array.ndim(); ++d) {
    tensor.shape.push_back(int64_t(array.shape(d)));
    tensor.strides.push_back(int64_t(array.stride(d)));
  }
  tensor.device = device_of_dlpack(array.device_type());
  tensor.device_index = array.device_id();
  return HeldArgument{.argument = tensor, .keep = nb::cast(array)};
}

}  // namespace

HeldArgument to_argument(nb::handle value) {
  if (PyFloat_Check(value.ptr())) return {.argument = PyFloat_AsDouble(value.ptr()), .keep = {}};
  if (PyLong_Check(value.ptr())) {  // bool too
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) return {.argument = int64_t(number), .keep = {}};
    throw invalid_argument("the integer {} does not fit 64 bits", nb::cast<std::string>(nb::str(value)));
  }
  for (const auto convert : {&from_buffer, &from_torch, &from_array_interface, &from_dlpack}) {
    if (std::optional<HeldArgument> held = convert(value)) return std::move(*held);
  }
  if (PyIndex_Check(value.ptr()) || converts_to_float(value)) {
    PyObject* number = PyIndex_Check(value.ptr()) ? PyNumber_Index(value.ptr()) : PyNumber_Float(value.ptr());
    if (number == nullptr) nb::raise_python_error();
    return to_argument(nb::steal(number));
  }
  refuse_type(value);
}

}  // namespace tilewright::python
