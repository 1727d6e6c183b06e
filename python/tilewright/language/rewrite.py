"""A kernel function, rewritten so that its control flow and assignments call ``tracing``.

Every node keeps its place, and the code its file, so that errors and tracebacks point at the author's lines. What
stands in nested functions, lambdas and comprehensions stays as it is.
"""

from __future__ import annotations

import __future__

import ast
import builtins
import inspect
import types

from ..error import fail
from . import tracing

_RUNTIME = "_tw_"  # the name of the module `tracing` in rewritten code

_SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}

_REFUSED = {
    "AsyncFor": ("async for", "kernels have no coroutines"),
    "AsyncWith": ("async with", "kernels have no coroutines"),
    "AsyncFunctionDef": ("an async function", "kernels have no coroutines"),
    "Try": ("try", "a kernel raises nothing; T.device_assert ends a launch"),
    "TryStar": ("try", "a kernel raises nothing; T.device_assert ends a launch"),
    "Global": ("global", "T.alloc_var and tiles carry values"),
    "Nonlocal": ("nonlocal", "return values from a @T.macro, or pass T.Ref parameters"),
    "Match": ("match", "use if and elif"),
    "Yield": ("yield", "a kernel function runs once"),
    "YieldFrom": ("yield from", "a kernel function runs once"),
    "Await": ("await", "kernels have no coroutines"),
    "Delete": ("del", "tiles live as long as their kernel"),
    "ClassDef": ("class", "define classes outside of kernel functions"),
}


class Source:
    """The text of a function as a tree with the author's lines and columns."""

    def __init__(self, function):
        self.function = function
        self.file = function.__code__.co_filename
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            fail(
                f"the source of {function.__name__} cannot be read",
                "kernel functions are rewritten from their source: define them in a file or a notebook cell",
                place=(self.file, function.__code__.co_firstlineno, 0),
            )
        # The block around it takes the indentation, so that columns stay, and strings of several lines too.
        indented = bool(lines[0][:1].isspace())
        text = ("if True:\n" if indented else "") + "".join(lines)
        tree = ast.parse(text)
        ast.increment_lineno(tree, first - (2 if indented else 1))
        body = tree.body[0].body if indented else tree.body
        self.node = body[0]
        if not isinstance(self.node, ast.FunctionDef):
            fail(
                f"{function.__name__} is not a function of its own line",
                "kernel functions are written with def",
                place=(self.file, first, 0),
            )

    def place(self, node):
        return (self.file, node.lineno, node.col_offset + 1)


def _assigned(nodes):
    """Names that statements assign, in order; not those of nested functions."""
    found = {}

    class Names(ast.NodeVisitor):
        def visit_Name(self, node):
            if isinstance(node.ctx, ast.Store):
                found.setdefault(node.id)

        def visit_FunctionDef(self, node):
            found.setdefault(node.name)

        def visit_Lambda(self, node):
            pass

        visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_Lambda

    for node in nodes:
        Names().visit(node)
    return [name for name in found if not name.startswith(_RUNTIME)]


def _cut(statements):
    """Without what stands behind a break or continue."""
    for index, statement in enumerate(statements):
        if isinstance(statement, (ast.Break, ast.Continue, ast.Return)):
            return statements[: index + 1]
    return statements


def _is_parallel(node):
    called = node.iter.func if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in ("Parallel", "parallel")


def _inner_parallel(node):
    """The parallel loop that is the whole body of another one, when its extents do not depend on that one's indices."""
    if not _is_parallel(node) or len(node.body) != 1 or not _is_parallel(node.body[0]):
        return None
    own = set(_assigned([ast.Expr(node.target)]))
    used = {part.id for part in ast.walk(node.body[0].iter) if isinstance(part, ast.Name)}
    return None if own & used else node.body[0]


def _is_place(target):
    """A subscript of something that has a name, which can be asked for twice."""
    if not isinstance(target, ast.Subscript):
        return False
    return all(isinstance(part, (ast.Name, ast.Attribute, ast.expr_context)) for part in ast.walk(target.value))


class Rewriter(ast.NodeTransformer):
    def __init__(self, source):
        self._source = source
        self._count = 0

    # ---- building nodes ----

    def _at(self, node, new):
        """The place of `node`'s beginning: a call that seems to span lines would report its last one."""
        new.lineno = new.end_lineno = node.lineno
        new.col_offset, new.end_col_offset = node.col_offset, node.col_offset + 1
        return ast.fix_missing_locations(new)

    def _name(self, name, store=False):
        return ast.Name(name, ast.Store() if store else ast.Load())

    def _fresh(self, stem):
        self._count += 1
        return f"{_RUNTIME}{stem}{self._count}"

    def _call(self, word, *args):
        return ast.Call(ast.Attribute(self._name(_RUNTIME), word, ast.Load()), list(args), [])

    def _method(self, owner, word, *args):
        return ast.Call(ast.Attribute(self._name(owner), word, ast.Load()), list(args), [])

    def _later(self, expression):
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Lambda(empty, expression)

    def _value_of(self, name):
        return self._later(self._name(name))

    def _set(self, name, value):
        return ast.Assign([self._name(name, store=True)], value)

    def _names_through(self, owner, word, names):
        """``x = owner.word("x", lambda: x)`` for each name."""
        return [
            self._set(name, self._method(owner, word, ast.Constant(name), self._value_of(name))) for name in names
        ]

    def _body(self, statements):
        out = []
        for statement in _cut(statements):
            new = self.visit(statement)
            out.extend(new if isinstance(new, list) else [new])
        return out or [ast.Pass()]

    def _all_at(self, node, statements):
        return [self._at(node, statement) if not hasattr(statement, "lineno") else statement for statement in statements]

    # ---- refusals ----

    def generic_visit(self, node):
        refused = _REFUSED.get(type(node).__name__)
        if refused:
            what, hint = refused
            fail(f"{what} in a kernel function", hint, place=self._source.place(node))
        return super().generic_visit(node)

    def visit_FunctionDef(self, node):
        return node

    def visit_Lambda(self, node):
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_Lambda

    # ---- assignments ----

    def _store(self, target, value, node):
        """Statements that assign the expression `value` to one target."""
        if isinstance(target, ast.Name):
            new = self._call("assign", ast.Constant(target.id), value, self._value_of(target.id))
            return [self._at(node, ast.Assign([target], new))]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._store_many(target, value, node)
        if isinstance(target, ast.Attribute):
            new = self._call("set_attribute", self.visit(target.value), ast.Constant(target.attr), value)
            return [self._at(node, ast.Expr(new))]
        return [self._at(node, ast.Assign([self.visit(target)], value))]

    def _store_many(self, target, value, node):
        """All values first, and what they read, then the targets from left to right."""
        starred = [isinstance(item, ast.Starred) for item in target.elts]
        names = [self._fresh("v") for _ in target.elts]
        owners = [self._later(item.value) if _is_place(item) else ast.Constant(None) for item in target.elts]
        count = ast.Constant(None if any(starred) else len(names))
        unpacked = self._call("unpack", value, count, ast.Tuple(owners, ast.Load()))
        parts = [self._name(name, store=True) for name in names]
        parts = [ast.Starred(part, ast.Store()) if star else part for part, star in zip(parts, starred)]
        out = [self._at(node, ast.Assign([ast.Tuple(parts, ast.Store())], unpacked))]
        for name, item, star in zip(names, target.elts, starred):
            out.extend(self._store(item.value if star else item, self._name(name), node))
        return out

    def visit_Assign(self, node):
        value = self.visit(node.value)
        out = []
        if isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            out.append(self._at(node, ast.Expr(self._call("want", ast.Constant(node.targets[0].id)))))
        if len(node.targets) == 1:
            return out + self._store(node.targets[0], value, node)
        kept = self._fresh("v")
        out.append(self._at(node, self._set(kept, self._call("keep", value))))
        for target in node.targets:
            out.extend(self._store(target, self._name(kept), node))
        return out

    def visit_AnnAssign(self, node):
        if node.value is not None:
            return self._store(node.target, self.visit(node.value), node)
        if not isinstance(node.target, ast.Name):
            fail("an annotation without a value", "assign a value", place=self._source.place(node))
        name = node.target.id
        new = self._call("declare", ast.Constant(name), self.visit(node.annotation), self._value_of(name))
        return self._at(node, self._set(name, new))

    def visit_AugAssign(self, node):
        value = self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            if isinstance(node.target, ast.Attribute):
                sum_ = ast.BinOp(self._at(node, ast.Attribute(node.target.value, node.target.attr, ast.Load())),
                                 node.op, value)
                return self._store(node.target, sum_, node)
            return self._at(node, ast.AugAssign(self.visit(node.target), node.op, value))
        name, sign = node.target.id, _SIGNS[type(node.op)]
        new = self._call("augment", ast.Constant(sign), ast.Constant(name), self._name(name), value)
        return self._at(node, self._set(name, new))

    # ---- expressions ----

    def visit_BoolOp(self, node):
        word = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._at(node, self._call(word, *[self._later(self.visit(value)) for value in node.values]))

    def visit_UnaryOp(self, node):
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self._at(node, self._call("not_", operand))
        return self._at(node, ast.UnaryOp(node.op, operand))

    def visit_Compare(self, node):
        if len(node.ops) == 1:
            return self.generic_visit(node)
        signs = ast.Tuple([ast.Constant(_SIGNS[type(op)]) for op in node.ops], ast.Load())
        values = [self._later(self.visit(value)) for value in [node.left, *node.comparators]]
        return self._at(node, self._call("compare", signs, *values))

    def visit_IfExp(self, node):
        sides = [self._later(self.visit(side)) for side in (node.body, node.orelse)]
        return self._at(node, self._call("if_expression", self.visit(node.test), *sides))

    # ---- statements ----

    def visit_If(self, node):
        branch = self._fresh("c")
        names = _assigned(node.body + node.orelse)
        out = [self._set(branch, self._call("Branch", self.visit(node.test)))]
        for name in names:
            out.append(ast.Expr(self._method(branch, "save", ast.Constant(name), self._value_of(name))))
        out.append(ast.If(self._method(branch, "then"), self._body(node.body), []))
        if node.orelse:
            out.extend(self._names_through(branch, "swap", names))
            out.append(ast.If(self._method(branch, "otherwise"), self._body(node.orelse), []))
        out.append(ast.Expr(self._method(branch, "end")))
        out.extend(self._names_through(branch, "left", names))
        return self._all_at(node, out)

    def _loop(self, node, loop, target, made):
        if node.orelse:
            fail("a loop with an else part", "use a T.alloc_var as a flag", place=self._source.place(node.orelse[0]))
        names = _assigned(node.body)
        own = _assigned([ast.Expr(target)])
        body = self._names_through(loop, "carried", [name for name in names if name not in own])
        body = self._all_at(node, body) + self._body(node.body)
        out = [self._set(loop, made), ast.For(target, self._name(loop), body, [])]
        out.append(ast.Expr(self._method(loop, "end")))
        out.extend(self._names_through(loop, "left", [name for name in names if name not in own]))
        return self._all_at(node, out)

    def visit_For(self, node):
        loop = self._fresh("l")
        inner = _inner_parallel(node)
        if inner is not None:
            both = ast.Tuple([node.target, inner.target], ast.Store())
            made = self._call("Loop", self._call("nested", self.visit(node.iter), self.visit(inner.iter)))
            joined = self._at(node, ast.For(self._at(node, both), node.iter, inner.body, inner.orelse))
            return self._loop(joined, loop, joined.target, made)
        return self._loop(node, loop, node.target, self._call("Loop", self.visit(node.iter)))

    def visit_While(self, node):
        calls = any(isinstance(part, ast.Call) for part in ast.walk(node.test))
        made = self._call("While", self._later(self.visit(node.test)), ast.Constant(calls))
        loop = self._fresh("l")
        return self._loop(node, loop, self._name(self._fresh("v"), store=True), made)

    def visit_Break(self, node):
        return self._at(node, ast.If(self._call("break_"), [self._at(node, ast.Break())], []))

    def visit_Continue(self, node):
        return self._at(node, ast.If(self._call("continue_"), [self._at(node, ast.Continue())], []))

    def visit_With(self, node):
        items = []
        for item in node.items:
            opened = self.visit(item.context_expr)
            target = item.optional_vars
            opened = self._at(node, self._call("opened", opened))
            if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == 1:
                opened = self._at(node, self._call("single", opened))
            items.append(ast.withitem(opened, target))
        return self._at(node, ast.With(items, self._body(node.body)))

    def visit_Assert(self, node):
        message = self._later(self.visit(node.msg)) if node.msg else ast.Constant(None)
        return self._at(node, ast.Expr(self._call("check", self.visit(node.test), message)))

    def visit_Return(self, node):
        value = self.visit(node.value) if node.value else ast.Constant(None)
        return self._at(node, ast.Return(self._call("leave", self._name(f"{_RUNTIME}depth"), value)))

    def function(self):
        """The whole function, without decorators and annotations, which are evaluated already."""
        node = self._source.node
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            argument.annotation = None
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                rest.annotation = None
        arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
        arguments.kw_defaults = [None if d is None else ast.Constant(None) for d in arguments.kw_defaults]
        begin = self._at(node.body[0], self._set(f"{_RUNTIME}depth", self._call("enter")))
        new = ast.FunctionDef(node.name, arguments, [begin] + self._body(node.body), [], None)
        if "type_params" in ast.FunctionDef._fields:
            new.type_params = []
        return self._at(node, new)


def rewrite(function):
    """``function`` with the same globals, cells and defaults, whose body records a kernel."""
    source = Source(function)
    inner = Rewriter(source).function()
    free = list(function.__code__.co_freevars)
    injected = [_RUNTIME]
    if "range" not in free and _names_builtin_range(function):
        injected.append("range")
    parameters = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in [*injected, *free]], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    outer = ast.FunctionDef("_tw_outer", parameters, [inner, ast.Return(ast.Name(inner.name, ast.Load()))], [], None)
    if "type_params" in ast.FunctionDef._fields:
        outer.type_params = []
    ast.copy_location(outer, source.node)
    module = ast.fix_missing_locations(ast.Module([outer], []))
    # The author's __future__ imports, not those of this file.
    flags = function.__code__.co_flags & __future__.annotations.compiler_flag
    outer_code = compile(module, source.file, "exec", flags=flags, dont_inherit=True).co_consts[0]
    code = next(c for c in outer_code.co_consts if isinstance(c, types.CodeType) and c.co_name == inner.name)
    cells = dict(zip(free, function.__closure__ or ()))
    cells[_RUNTIME] = types.CellType(tracing)
    cells.setdefault("range", types.CellType(tracing.kernel_range))
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, tuple(cells[n] for n in code.co_freevars)
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _names_builtin_range(function):
    """Whether ``range`` is Python's own there."""
    return function.__globals__.get("range", builtins.range) is builtins.range


def mentions(node, names):
    """Whether an attribute or name of ``names`` occurs in a tree."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in names:
            return True
        if isinstance(part, ast.Name) and part.id in names:
            return True
    return False
