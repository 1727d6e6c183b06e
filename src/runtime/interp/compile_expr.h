// Expressions compiled to closures.
#pragma once

#include "runtime/interp/machine.h"

namespace tilewright::interp {

template <class M>
class ExprCompiler {
 public:
  // `loc` stands for expressions without a position of their own.
  ExprCompiler(const ir::Kernel& kernel, Loc loc) : kernel_(kernel), loc_(std::move(loc)) {}

  FloatNode<M> float_node(const ir::Expr& e) const;  // of a float dtype
  IntNode<M> int_node(const ir::Expr& e) const;      // of an integer or bool dtype
  Place<M> place(ir::TileId tile, std::span<const ir::Expr> indices, const Loc& loc) const;

 private:
  template <DType kDType>
  FloatNode<M> float_arithmetic(const ir::Expr& e) const;
  template <class Value, class Compiled>
  Compiled select_node(const ir::Expr& e, Compiled then, Compiled otherwise) const;
  template <class Value>
  std::unique_ptr<const Node<M, Value>> load_node(const ir::Expr& e) const;
  IntNode<M> compare_floats(const ir::Expr& e) const;
  IntNode<M> int_binary(const ir::Expr& e) const;
  IntNode<M> int_cast(const ir::Expr& e) const;
  FloatNode<M> float_cast(const ir::Expr& e) const;
  FloatNode<M> float_call(const ir::Expr& e) const;
  IntNode<M> int_call(const ir::Expr& e) const;
  template <class Value, class Compiled>
  Compiled blend_node(const ir::Expr& e, Compiled then, Compiled otherwise) const;
  template <class Value, class F>
  std::unique_ptr<const Node<M, Value>> reinterpreted(const ir::Expr& e, F f) const;

  const ir::Kernel& kernel_;
  Loc loc_;
};

extern template class ExprCompiler<Plain>;
extern template class ExprCompiler<Tracked>;

}  // namespace tilewright::interp
