"""Small changes of the code, made by cosmic-ray, that a good test notices."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

__all__ = ["Mutant", "mutants_of"]

# One replacement for each arithmetic operator, two for each comparison: the one that differs where both operands are
# equal, and the opposite. Cosmic-ray has eleven for each, most of which fail at once.
_BINARY = (
    *("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul"),
    *("RShift_LShift", "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr"),
)
_COMPARISON = (
    *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"),
    *("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_GtE", "LtE_Gt", "Gt_LtE", "GtE_Lt"),
)
_UNARY = ("Delete_USub", "Delete_Invert", "Delete_Not")
_OTHERS = (
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer"),
    *("RemoveDecorator", "ZeroIterationForLoop"),
)
OPERATORS = (
    *(f"core/ReplaceBinaryOperator_{name}" for name in _BINARY),
    *(f"core/ReplaceComparisonOperator_{name}" for name in _COMPARISON),
    *(f"core/ReplaceUnaryOperator_{name}" for name in _UNARY),
    *(f"core/{name}" for name in _OTHERS),
)


class Mutant(NamedTuple):
    """One change of one file; an empty operator stands for no change, to see that tests pass."""

    path: str
    operator: str
    occurrence: int
    line: int
    column: int

    @property
    def key(self) -> str:
        """The name of the change in files of outcomes."""
        return f"{self.path}|{self.operator}|{self.occurrence}"

    def source(self) -> str:
        """Return the file with the change."""
        code = Path(self.path).read_text(encoding="utf-8")
        if not self.operator:
            return code
        changed: str = mutate_code(code, get_operator(self.operator)(), self.occurrence)
        return changed

    def change(self) -> str:
        """Return the lines before and after."""
        before, after = Path(self.path).read_text(encoding="utf-8").splitlines(), self.source().splitlines()
        pairs = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
        return " -> ".join(line.strip() for line in pairs[0]) if pairs else "?"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield all changes of a file, except in annotations and decorators of kernels, which change no result."""
    code = path.read_text(encoding="utf-8")
    tree, left_out = get_ast(code), _left_out(code)
    for name in OPERATORS:
        operator = get_operator(name)()
        places = (start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
        for occurrence, (line, column) in enumerate(places):
            if not any(first <= (line, column) < last for first, last in left_out):
                yield Mutant(str(path), name, occurrence, line, column)


def _left_out(code: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the positions of annotations and of the decorators of kernels."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef):
            kernels = [given for given in node.decorator_list if "kernel" in ast.unparse(given)]
            found += [node.returns, *kernels]
        elif isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
    return [
        # The position of a decorator begins at its @.
        ((node.lineno, max(0, node.col_offset - 1)), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in found
        if node is not None
    ]
