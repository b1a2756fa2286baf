"""From a kernel in Python to LLVM bitcode, for one kind of arguments, and on to an object file.

Numba compiles the kernel and the kernels that it calls, and stops before it optimises them. A function around
it takes its arguments as 64-bit words, as dispatch.c passes them: of an array the address, the shape and the
strides, of a tuple its members, of a number its value.

Of the repository, only this file and ``preflow.kernels.numba_internals`` use what is inside Numba. What
is replaced here holds for one version, the one that build.py asks for.
"""

from __future__ import annotations

import gc
import platform
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils, codegen, config, cpu, dispatcher
from numba.core.llvm_bindings import create_pass_builder
from numba.core.types import functions
from numba.np.arrayobj import make_array, populate_array

from build import machine
from preflow.kernels import jit
from preflow.kernels.kinds import types_of

#: Results of a kernel that dispatch.c has room for.
MOST_RESULTS = 32


def keep_numba_from_emitting() -> None:
    """Let Numba stop at unoptimised bitcode, and only link the kernels that a kernel calls."""

    def finalize(self: Any) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def add_overload(self: Any, compiled: Any) -> None:
        self.overloads[tuple(compiled.signature.args)] = compiled

    _keep_types_of_calls()
    gc.disable()  # it takes a fifth of the time, and the processes end soon
    codegen.JITCodeLibrary.finalize = finalize
    cpu.CPUContext.get_executable = lambda self, library, described, environment: object()
    dispatcher.Dispatcher.add_overload = add_overload  # type: ignore
    jit.OPTIONS.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    jit.KernelCache.load_overload = lambda self, signature, context: None  # type: ignore
    jit.KernelCache.save_overload = lambda self, signature, compiled: None  # type: ignore


def _keep_types_of_calls() -> None:
    """Let Numba find the type of a built-in operation once for each kind of arguments, not at each use.

    It tries all forms of the operation at each use, a fifth of the time of a translation.
    """
    find = functions.BaseFunction.get_call_type
    found: dict[Any, Any] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return find(self, context, args, kws)
        # The type of the function is kept as well, so that no other one gets its identity.
        key = (id(self), args)
        if key not in found:
            found[key] = self, find(self, context, args, kws)
        return found[key][1]

    functions.BaseFunction.get_call_type = get_call_type  # type: ignore[method-assign]


def write_for(triple: str) -> None:
    """Let Numba write modules for another machine."""
    layout = str(llvm.Target.from_triple(triple).create_target_machine().target_data)
    create = codegen.CPUCodegen._create_empty_module

    def create_empty_module(self: Any, name: str) -> Any:
        module = create(self, name)
        if self._data_layout is not None:  # otherwise it is the module of Numba's engine, which runs here
            module.triple, module.data_layout, self._data_layout = triple, layout, layout
        return module

    codegen.CPUCodegen._create_empty_module = create_empty_module


class _Words:
    """The arguments of a compiled function, read from an array of words."""

    def __init__(self, context: Any, builder: Any, words: Any) -> None:
        self.context, self.builder, self.words, self.place = context, builder, words, 0

    def next(self) -> Any:
        place = ir.Constant(ir.IntType(64), self.place)
        self.place += 1
        return self.builder.load(self.builder.gep(self.words, [place]))

    def value(self, kind: Any) -> Any:
        """Return the value of the next argument, which has this type."""
        builder = self.builder
        if isinstance(kind, types.Array):
            array = make_array(kind)(self.context, builder)
            data = builder.inttoptr(self.next(), array.data.type)
            shape = [self.next() for _ in range(kind.ndim)]
            strides = [self.next() for _ in range(kind.ndim)]
            itemsize = ir.Constant(ir.IntType(64), getattr(kind.dtype, "bitwidth", 8) // 8)
            populate_array(array, data, shape, strides, itemsize, meminfo=None)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            return self.context.make_tuple(builder, kind, [self.value(part) for part in kind.types])
        word = self.next()
        if isinstance(kind, types.Boolean):
            return builder.trunc(word, ir.IntType(1))
        if isinstance(kind, types.Integer):
            return builder.trunc(word, ir.IntType(kind.bitwidth)) if kind.bitwidth < 64 else word
        if isinstance(kind, types.Float):
            number = builder.bitcast(word, ir.DoubleType())
            return number if kind.bitwidth == 64 else builder.fptrunc(number, ir.FloatType())
        return self.context.get_dummy_value()


class _Results:
    """The results of a compiled function, written into an array of words."""

    def __init__(self, builder: Any, words: Any) -> None:
        self.builder, self.words, self.place = builder, words, 0

    def put(self, kind: Any, value: Any) -> str:
        """Store a value; return the kind that dispatch.c reads it by."""
        builder, word = self.builder, ir.IntType(64)
        if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
            parts = cgutils.unpack_tuple(builder, value)
            return "(" + "".join(map(self.put, kind.types, parts)) + ")"
        if isinstance(kind, types.NoneType | types.Omitted):
            return "n"
        target = builder.gep(self.words, [ir.Constant(word, self.place)])
        self.place += 1
        if self.place > MOST_RESULTS:
            raise NotImplementedError("more results than dispatch.c has room for")
        if isinstance(kind, types.Boolean):
            builder.store(builder.zext(value, word), target)
            return "?"
        if isinstance(kind, types.Integer):
            if kind.bitwidth < 64:
                value = (builder.sext if kind.signed else builder.zext)(value, word)
            builder.store(value, target)
            return "q" if kind.signed else "Q"
        if isinstance(kind, types.Float):
            wide = value if kind.bitwidth == 64 else builder.fpext(value, ir.DoubleType())
            builder.store(builder.bitcast(wide, word), target)
            return "d"
        raise NotImplementedError(f"a kernel that returns {kind}")


def bitcode_of(kernel: Any, kind: str, symbol: str) -> tuple[bytes, str]:
    """Return the bitcode of a kernel for one kind of arguments, and the kind of its result."""
    arguments = tuple(types_of(kind))
    dispatcher = kernel.dispatcher
    dispatcher.compile(arguments)
    compiled = dispatcher.overloads[arguments]
    context, described = compiled.target_context, compiled.fndesc
    library = context.codegen().create_library(symbol)
    module = library.create_ir_module(symbol)
    words = ir.IntType(64).as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [words, words]), symbol)
    for argument in function.args:
        argument.add_attribute("noalias")
    builder = ir.IRBuilder(function.append_basic_block())
    reader = _Words(context, builder, function.args[0])
    values = [reader.value(each) for each in arguments]
    called = context.declare_function(module, described)
    status, outcome = context.call_conv.call_function(
        builder, called, described.restype, described.argtypes, values
    )
    with builder.if_then(status.is_error, likely=False):
        builder.ret(status.code)
    result = _Results(builder, function.args[1]).put(described.restype, outcome)
    builder.ret(ir.Constant(ir.IntType(32), 0))
    library.add_ir_module(module)
    library.add_linking_library(compiled.library)
    library.finalize()
    final = library._final_module
    for each in [*final.functions, *final.global_variables]:
        if not each.is_declaration and each.name != symbol:
            each.linkage = "internal"
    return final.as_bitcode(), result


def object_of(bitcode: bytes, symbol: str, name: str, processor: str, features: str) -> bytes:
    """Return an object file with a function under another name, optimised for a CPU as Numba does."""
    module = llvm.parse_bitcode(bitcode)
    machine = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu=processor, features=features, opt=3, reloc="pic", codemodel="default"
    )
    module.get_function(symbol).name = name
    # The passes that Numba runs, in its order.
    cheap = create_pass_builder(machine, opt=0, loop_vectorize=False, slp_vectorize=False)
    manager = cheap.getModulePassManager()
    manager.add_loop_rotate_pass()
    manager.add_instruction_combine_pass()
    manager.add_jump_threading_pass()
    manager.run(module, cheap)
    full = create_pass_builder(
        machine, opt=3, loop_vectorize=config.LOOP_VECTORIZE, slp_vectorize=config.SLP_VECTORIZE
    )
    full.getModulePassManager().run(module, full)
    return bytes(machine.emit_object(module))


llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
keep_numba_from_emitting()
if machine() != platform.machine():
    write_for("-".join([machine(), *llvm.get_process_triple().split("-")[1:]]))
