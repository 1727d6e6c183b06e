#include "runtime/bind.h"

#include "ir/simplify.h"
#include "runtime/bind_extents.h"
#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

namespace tilewright {

using ir::Expr;
using ir::ExprKind;

namespace {

constexpr size_t kWorkspaceAlignment = 256;

std::string join(std::span<const int64_t> values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += fmt::format("{}{}", i ? ", " : "", values[i]);
  return out + "]";
}

std::string declared_shape(const ir::Tensor& tensor) {
  std::string out = fmt::format("{}  {}[", tensor.name, to_string(tensor.dtype));
  for (size_t d = 0; d < tensor.shape.size(); ++d) out += (d ? ", " : "") + text_of(tensor.shape[d]);
  return out + "]";
}

// Product of extents >= 0; nothing when it does not fit.
std::optional<int64_t> product(std::span<const int64_t> extents) {
  int64_t out = 1;
  for (int64_t e : extents) {
    if (e == 0) return 0;
  }
  for (int64_t e : extents) {
    if (__builtin_mul_overflow(out, e, &out)) return std::nullopt;
  }
  return out;
}

// The largest distance of an element from the first one, in elements, of extents >= 0; nothing when it does not fit.
std::optional<int64_t> reach(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t out = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t step = 0;
    const int64_t steps = std::max<int64_t>(shape[d] - 1, 0);
    if (strides[d] == INT64_MIN || __builtin_mul_overflow(steps, std::abs(strides[d]), &step) ||
        __builtin_add_overflow(out, step, &out)) {
      return std::nullopt;
    }
  }
  return out;
}

std::vector<int64_t> contiguous_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = int64_t(uint64_t(strides[d]) * uint64_t(std::max<int64_t>(shape[d], 1)));
  }
  return strides;
}

class Binder {
 public:
  Binder(const ir::Program& program, std::span<const Argument> arguments, const BindOptions& options)
      : program_(program), arguments_(arguments), options_(options) {
    bound_.tensors.resize(program.tensors.size());
    bound_.scalars.resize(size_t(program.next_var));
  }

  BoundArguments run() {
    check_count();
    for (size_t p = 0; p < program_.params.size(); ++p) bind(p);
    solve_extents(program_, facts_, bound_.scalars);
    check_solved();
    check_sizes();
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      if (program_.tensors[t].kind == ir::TensorKind::workspace) allocate(t);
    }
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      if (program_.tensors[t].kind == ir::TensorKind::view) bind_view(t);
    }
    return std::move(bound_);
  }

 private:
  void check_count() const {
    if (arguments_.size() == program_.params.size()) return;
    std::string names;
    for (const ir::Param& param : program_.params) names += (names.empty() ? "" : ", ") + name_of(param);
    throw invalid_argument("{} takes {} argument{} ({}), but {} {} passed", program_.name, program_.params.size(),
                           program_.params.size() == 1 ? "" : "s", names, arguments_.size(),
                           arguments_.size() == 1 ? "was" : "were")
        .note(fmt::format("{}  program", program_.name), program_.loc)
        .hint("pass tensors and scalars in the order of their declarations");
  }

  std::string name_of(const ir::Param& param) const {
    return param.is_tensor ? program_.tensors[size_t(param.index)].name
                           : program_.scalars[size_t(param.index)].var->name;
  }

  void bind(size_t p) {
    const ir::Param& param = program_.params[p];
    const int position = int(p) + 1;
    if (param.is_tensor) {
      bind_tensor(position, param.index, std::get_if<TensorView>(&arguments_[p]));
    } else {
      bind_scalar(position, program_.scalars[size_t(param.index)], arguments_[p]);
    }
  }

  // ---- tensors ----
  template <class... Args>
  Error tensor_error(int position, const ir::Tensor& tensor, fmt::format_string<Args...> format, Args&&... args) const {
    return invalid_argument("argument {} ({}): {}", position, tensor.name,
                            fmt::format(format, std::forward<Args>(args)...))
        .note(declared_shape(tensor), tensor.loc);
  }

  void bind_tensor(int position, int row, const TensorView* view) {
    const ir::Tensor& tensor = program_.tensors[size_t(row)];
    if (view == nullptr) {
      throw tensor_error(position, tensor, "a scalar was passed, but it is a tensor").hint("pass a TensorView");
    }
    check_form(position, tensor, *view);
    BoundTensor& bound = bound_.tensors[size_t(row)];
    bound.data = view->data;
    bound.device = view->device;
    bound.shape = view->shape;
    bound.strides = view->strides.empty() ? contiguous_strides(view->shape) : view->strides;
    check_memory(position, tensor, bound);
    add_facts(position, tensor, bound);
  }

  void check_form(int position, const ir::Tensor& tensor, const TensorView& view) const {
    // tf32 is a way to read 32-bit floats.
    const bool reads_as_tf32 = tensor.dtype == DType::tf32 && view.dtype == DType::f32;
    if (view.dtype != tensor.dtype && !reads_as_tf32) {
      throw tensor_error(position, tensor, "dtype is {}, but {} is expected", to_string(view.dtype),
                         to_string(tensor.dtype))
          .hint(fmt::format("convert the tensor to {}", to_string(tensor.dtype)));
    }
    check_device(position, tensor, view);
    if (view.shape.size() != tensor.shape.size()) {
      throw tensor_error(position, tensor, "shape {} has {} dimensions, but {} are expected", join(view.shape),
                         view.shape.size(), tensor.shape.size())
          .hint("reshape the view; unit dimensions count");
    }
    if (!view.strides.empty() && view.strides.size() != view.shape.size()) {
      throw tensor_error(position, tensor, "there are {} strides for {} dimensions", view.strides.size(),
                         view.shape.size())
          .hint("pass one stride for each dimension, or none for a contiguous tensor");
    }
    for (size_t d = 0; d < view.shape.size(); ++d) {
      if (view.shape[d] >= 0) continue;
      throw tensor_error(position, tensor, "the extent of dimension {} is {}", d, view.shape[d])
          .hint("extents are 0 or more");
    }
  }

  void check_device(int position, const ir::Tensor& tensor, const TensorView& view) const {
    if (view.device == DeviceKind::cpu) return;
    if (options_.device == DeviceKind::cpu) {
      throw tensor_error(position, tensor, "the tensor is on cuda:{}, but the kernel runs on the cpu",
                         view.device_index)
          .hint("copy the tensor to host memory, or compile for target cuda");
    }
    if (view.device_index == options_.device_index) return;
    throw tensor_error(position, tensor, "the tensor is on cuda:{}, but the kernel runs on cuda:{}", view.device_index,
                       options_.device_index)
        .hint(fmt::format("copy the tensor to cuda:{}", options_.device_index));
  }

  // The compiler takes for granted that index arithmetic on extents and strides does not wrap.
  void check_solved() const {
    for (const ir::Scalar& scalar : program_.scalars) {
      if (scalar.kind != ir::ScalarKind::extent) continue;
      const int64_t value = bound_.scalars[size_t(scalar.var.var_id())]->i;
      if (value >= -ir::kMaxExtent && value <= ir::kMaxExtent) continue;
      throw invalid_argument("the extent {} is {}, but at most {} is possible", scalar.var->name, value, ir::kMaxExtent)
          .note(scalar.var->name, scalar.loc)
          .hint("check the shapes and strides of the tensors that use it");
    }
  }

  // The same of extents and strides that the program names as numbers or by a formula.
  void check_sizes() const {
    for (size_t p = 0; p < program_.params.size(); ++p) {
      const ir::Param& param = program_.params[p];
      if (!param.is_tensor) continue;
      const ir::Tensor& tensor = program_.tensors[size_t(param.index)];
      const BoundTensor& bound = bound_.tensors[size_t(param.index)];
      for (size_t d = 0; d < bound.shape.size(); ++d) {
        if (bound.shape[d] <= ir::kMaxExtent) continue;
        throw tensor_error(int(p) + 1, tensor, "the extent of dimension {} is {}, but at most {} is possible", d,
                           bound.shape[d], ir::kMaxExtent)
            .hint("that is 2^48; check the extents of the view");
      }
      check_reach(int(p) + 1, tensor, bound);
    }
  }

  void check_reach(int position, const ir::Tensor& tensor, const BoundTensor& bound) const {
    if (bound.num_elems() == 0) return;
    const std::optional<int64_t> last = reach(bound.shape, bound.strides);
    if (last && *last < INT64_MAX / bytes_of(tensor.dtype)) return;
    throw tensor_error(position, tensor, "strides {} reach further than an address can count", join(bound.strides))
        .hint("check the strides of the view; they are in elements");
  }

  void check_memory(int position, const ir::Tensor& tensor, const BoundTensor& bound) const {
    const int bytes = bytes_of(tensor.dtype);
    const std::optional<int64_t> count = product(bound.shape);
    if (!count || *count > INT64_MAX / bytes) {
      throw tensor_error(position, tensor, "shape {} has more bytes than an address can count", join(bound.shape))
          .hint("check the extents of the view");
    }
    if (*count == 0) return;
    if (bound.data == nullptr) {
      throw tensor_error(position, tensor, "the pointer is null, but the shape is {}", join(bound.shape))
          .hint("only a tensor without elements may have a null pointer");
    }
    if (reinterpret_cast<uintptr_t>(bound.data) % uintptr_t(bytes) != 0) {
      throw tensor_error(position, tensor, "the address {} is not a multiple of {} bytes, the size of {}", bound.data,
                         bytes, to_string(tensor.dtype))
          .hint("pass memory aligned to its elements");
    }
  }

  void add_facts(int position, const ir::Tensor& tensor, const BoundTensor& bound) {
    const bool is_empty = bound.num_elems() == 0;
    for (int d = 0; d < int(bound.shape.size()); ++d) {
      facts_.push_back({.expr = tensor.shape[size_t(d)],
                        .value = bound.shape[size_t(d)],
                        .argument = position,
                        .tensor = &tensor,
                        .dim = d});
    }
    const std::vector<int64_t> contiguous = contiguous_strides(bound.shape);
    for (int d = 0; d < int(bound.shape.size()); ++d) {
      const size_t i = size_t(d);
      const Expr expected = tensor.strides.empty() ? ir::int_imm(contiguous[i]) : tensor.strides[i];
      facts_.push_back({.expr = expected,
                        .value = bound.strides[i],
                        .argument = position,
                        .tensor = &tensor,
                        .dim = d,
                        .is_stride = true,
                        .free = is_empty || bound.shape[i] == 1});
    }
  }

  // ---- scalars ----
  void bind_scalar(int position, const ir::Scalar& scalar, const Argument& argument) {
    if (std::holds_alternative<TensorView>(argument)) {
      throw scalar_error(position, scalar, "a tensor was passed, but it is a scalar").hint("pass a number");
    }
    const auto* integer = std::get_if<int64_t>(&argument);
    ScalarValue& value = bound_.scalars[size_t(scalar.var.var_id())].emplace();
    if (is_float(scalar.var.dtype())) {
      value.f =
          integer ? float_of_int(position, scalar, *integer) : float_of(position, scalar, std::get<double>(argument));
    } else if (integer) {
      value.i = int_of(position, scalar, *integer);
    } else {
      throw scalar_error(position, scalar,
                         fmt::format("the value is {}, but {} is an integer dtype", std::get<double>(argument),
                                     to_string(scalar.var.dtype())))
          .hint("pass an integer");
    }
  }

  Error scalar_error(int position, const ir::Scalar& scalar, const std::string& what) const {
    return invalid_argument("argument {} ({}): {}", position, scalar.var->name, what)
        .note(fmt::format("{}  {}", scalar.var->name, to_string(scalar.var.dtype())), scalar.loc);
  }

  int64_t int_of(int position, const ir::Scalar& scalar, int64_t value) const {
    const DType dtype = scalar.var.dtype();
    const int64_t top = dtype == DType::u64 ? INT64_MAX : max_value(dtype);
    if (value >= min_value(dtype) && value <= top) return value;
    throw scalar_error(position, scalar, fmt::format("{} is outside the range of {}", value, to_string(dtype)))
        .hint(dtype == DType::u64 ? "a u64 value is 0 or more"
                                  : fmt::format("{} holds {} to {}", to_string(dtype), min_value(dtype), top));
  }

  double float_of_int(int position, const ir::Scalar& scalar, int64_t value) const {
    const DType dtype = scalar.var.dtype();
    const double rounded = round_to(dtype, double(value));
    if (std::abs(rounded) < 0x1p63 && int64_t(rounded) == value) return rounded;
    throw scalar_error(position, scalar, fmt::format("the integer {} is not a value of {}", value, to_string(dtype)))
        .hint("pass a floating-point number if the nearest value will do");
  }

  double float_of(int position, const ir::Scalar& scalar, double value) const {
    const DType dtype = scalar.var.dtype();
    if (!is_outside(dtype, value)) return constant_of(dtype, value);
    throw scalar_error(position, scalar, fmt::format("{} is outside the range of {}", value, to_string(dtype)))
        .hint(fmt::format("the largest finite {} is {}", to_string(dtype), largest_finite(dtype)));
  }

  // ---- views ----
  void bind_view(size_t row) {
    const ir::Tensor& tensor = program_.tensors[row];
    const ir::Tensor& root = program_.tensors[size_t(tensor.view_of)];
    const BoundTensor& memory = bound_.tensors[size_t(tensor.view_of)];
    BoundTensor& bound = bound_.tensors[row];
    bound.data = memory.data;
    bound.device = memory.device;
    for (const Expr& e : tensor.shape) bound.shape.push_back(evaluate(e, bound_.scalars));
    bound.strides = contiguous_strides(bound.shape);
    const bool negative = std::any_of(bound.shape.begin(), bound.shape.end(), [](int64_t e) { return e < 0; });
    const auto bits_in = [](std::vector<int64_t> extents, DType dtype) {
      extents.push_back(bits_of(dtype));
      return product(extents);
    };
    const std::optional<int64_t> wanted = bits_in(memory.shape, root.dtype);
    const std::optional<int64_t> given = negative ? std::nullopt : bits_in(bound.shape, tensor.dtype);
    const auto bytes = uintptr_t(bytes_of(tensor.dtype));
    if (reinterpret_cast<uintptr_t>(memory.data) % bytes != 0) {
      throw invalid_argument("{}, a view of {}: the address {} is not a multiple of {} bytes, the size of {}",
                             tensor.name, root.name, memory.data, bytes, to_string(tensor.dtype))
          .note(declared_shape(tensor), tensor.loc)
          .hint("pass memory aligned to the elements of its views");
    }
    if (given && given == wanted) return;
    const std::string bits = given ? fmt::format("{}", *given) : "no number of";
    throw invalid_argument("{}, a view of {}, has shape {} and {} bits, but {} has shape {} and {}", tensor.name,
                           root.name, join(bound.shape), bits, root.name, join(memory.shape),
                           wanted.value_or(INT64_MAX))
        .note(declared_shape(tensor), tensor.loc)
        .note(declared_shape(root), root.loc)
        .hint("a view names the same bits: the product of its extents and the bits of its dtype stay");
  }

  // ---- workspaces ----
  void allocate(size_t row) {
    const ir::Tensor& tensor = program_.tensors[row];
    BoundTensor& bound = bound_.tensors[row];
    for (const Expr& e : tensor.shape) bound.shape.push_back(evaluate(e, bound_.scalars));
    for (const Expr& e : tensor.strides) bound.strides.push_back(evaluate(e, bound_.scalars));
    if (tensor.strides.empty()) bound.strides = contiguous_strides(bound.shape);
    const auto is_negative = [](int64_t n) { return n < 0; };
    const bool counts = std::none_of(bound.shape.begin(), bound.shape.end(), is_negative) &&
                        std::none_of(bound.strides.begin(), bound.strides.end(), is_negative);
    const std::optional<int64_t> last = counts ? reach(bound.shape, bound.strides) : std::nullopt;
    if (!last || *last >= (INT64_MAX >> 4)) {
      throw invalid_argument("workspace {} has shape {} and strides {}, which no memory can hold", tensor.name,
                             join(bound.shape), join(bound.strides))
          .note(declared_shape(tensor), tensor.loc)
          .hint("check the extents that the arguments give");
    }
    const size_t bytes = size_t(*last + 1) * size_t(bytes_of(tensor.dtype));
    const std::shared_ptr<void> memory = options_.allocate(bytes);
    if (memory == nullptr) {
      throw invalid_argument("workspace {} needs {} bytes, more than this machine has", tensor.name, bytes)
          .note(declared_shape(tensor), tensor.loc);
    }
    bound_.workspaces.push_back(memory);
    bound.data = memory.get();
    bound.device = options_.device;
  }

  const ir::Program& program_;
  std::span<const Argument> arguments_;
  const BindOptions& options_;
  BoundArguments bound_;
  std::vector<ExtentFact> facts_;
};

}  // namespace

int64_t BoundTensor::num_elems() const { return product(shape).value_or(std::numeric_limits<int64_t>::max()); }

AddressRange range_of(const BoundTensor& tensor, DType dtype) {
  if (tensor.num_elems() == 0) return {};
  int64_t low = 0, high = 0;  // strides may be negative
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const int64_t reach = (tensor.shape[d] - 1) * tensor.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const auto base = reinterpret_cast<uintptr_t>(tensor.data);
  const int64_t bytes = bytes_of(dtype);
  return {base + uintptr_t(low * bytes), base + uintptr_t((high + 1) * bytes)};
}

std::shared_ptr<void> allocate_host_memory(size_t num_bytes) {
  void* memory = ::operator new(num_bytes, std::align_val_t(kWorkspaceAlignment), std::nothrow);
  if (memory == nullptr) return nullptr;
  return {memory, [](void* p) { ::operator delete(p, std::align_val_t(kWorkspaceAlignment)); }};
}

BoundArguments bind_arguments(const ir::Program& program, std::span<const Argument> arguments,
                              const BindOptions& options) {
  return Binder(program, arguments, options).run();
}

int64_t evaluate(const Expr& e, const ScalarValues& values) {
  const auto arg = [&](size_t i) { return evaluate(e.arg(i), values); };
  switch (e.kind()) {
    case ExprKind::int_imm: return e->i;
    case ExprKind::var:
      if (size_t(e.var_id()) < values.size() && values[size_t(e.var_id())]) return values[size_t(e.var_id())]->i;
      throw internal_error(e.loc(), "{} has no value at launch", e->name);
    case ExprKind::logical_not: return !arg(0);
    case ExprKind::select: return arg(0) ? arg(1) : arg(2);
    case ExprKind::cast:
    case ExprKind::reinterpret:
      if (!is_float(e.arg(0).dtype()) && !is_float(e.dtype())) return ir::wrap_to(e.dtype(), arg(0));
      break;
    case ExprKind::call:
      if (ir::MathFn(e->i) == ir::MathFn::blend && !is_float(e.dtype())) return arg(0) ? arg(1) : arg(2);
      if (is_integer(e.dtype())) {
        return ir::int_value(ir::MathFn(e->i), e.dtype(), arg(0), e.args().size() > 1 ? arg(1) : 0);
      }
      break;
    default:
      if (ir::is_binary(e.kind()) && !is_float(e.arg(0).dtype())) {
        return ir::eval_int_binary(e.kind(), e.arg(0).dtype(), arg(0), arg(1));
      }
  }
  throw internal_error(e.loc(), "{} of {} cannot be evaluated at launch", to_string(e.kind()), to_string(e.dtype()));
}

}  // namespace tilewright
