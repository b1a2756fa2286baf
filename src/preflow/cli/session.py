"""Common parts of all commands of ``preflow``: messages, progress, exit codes of errors, Ctrl-C."""

from __future__ import annotations

import io
import logging
import os
import select
import shlex
import shutil
import signal
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NoReturn, TextIO, TypeVar

import click
from click.exceptions import Exit

from ..errors import (
    DeviceUnavailableError,
    InvalidInputError,
    MissingDependencyError,
    PreflowError,
    VerificationError,
)
from ..progress import ProgressReport, Reporter, reporting
from .options import parameters_of_command, without_parameters

Answer = TypeVar("Answer")

VERIFICATION_FAILED = 1
BAD_INPUT = 2
TIME_LIMIT_REACHED = 3
MISSING_EXTRA = 4
NOT_PROVED_OPTIMAL = 5
INTERRUPTED = 130
#: Exit code that a shell reports for a program whose reader has closed the pipe, as ``head`` does.
BROKEN_PIPE = 141

#: Seconds of work before the terminal shows its progress.
PATIENCE = 1.0


class Command(click.Command):
    """A command whose options are derived from signatures, see :mod:`.options`.

    Its help shows the docstring line by line, so that examples and lists keep their lines.

    `like` are functions whose options the command has, too: public ones by name, or of the command line;
    `without` are those of their parameters that make no sense here. `demos` has the arguments of each
    ``--demo NAME``, in which samples stand for files. Options of the user follow them.
    """

    def __init__(
        self,
        *arguments: Any,
        like: Sequence[str | Callable[..., Any]] = (),
        without: Sequence[str] = (),
        demos: Mapping[str, str] | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self.help = without_parameters(self.help or "")
        self.like, self.without = like, without
        self.demos = demos or {}

    @cached_property
    def derived(self) -> list[click.Parameter]:
        """The parameters that no decorator declares; they are read when the command is asked for."""
        declared = {each.name for each in self.params}
        found = [] if self.callback is None else parameters_of_command(self.callback, self.like, self.without)
        found = [each for each in found if each.name not in declared]
        if self.demos:
            text = f"Run on sample files, and say how: {', '.join(self.demos)}."
            found.append(click.Option(["--demo"], metavar="NAME", help=text, expose_value=False))
        return found

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with the option for help last."""
        declared = super().get_params(ctx)
        position = len(self.params)
        return [*declared[:position], *self.derived, *declared[position:]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the arguments of a demo in the place of ``--demo NAME``."""
        if not self.demos:
            return super().parse_args(ctx, args)
        try:
            return super().parse_args(ctx, self._expanded(ctx, args))
        except click.MissingParameter as error:
            if not isinstance(error.param, click.Argument):
                raise
            hint = f"Without a file, --demo {next(iter(self.demos))} shows what the command does."
            raise click.MissingParameter(hint, error.ctx, error.param) from None

    def _expanded(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = args[: args.index("--")] if "--" in args else args
        place = next((at for at, word in enumerate(given) if word.split("=")[0] == "--demo"), None)
        if place is None:
            return args
        _, _, name = args[place].partition("=")
        rest = args[:place] + args[place + 1 :]
        if not name and place < len(rest) and not rest[place].startswith("-"):
            name = rest.pop(place)
        name = name or next(iter(self.demos))
        if name not in self.demos:
            raise InvalidInputError(f"there is no demo {name!r}: there are {', '.join(self.demos)}")
        words = shlex.split(self.demos[name])
        from .sample_files import ALL, write_sample

        files = [word for word in words if word in ALL]
        folder = ctx.with_resource(TemporaryDirectory(prefix="preflow-demo-"))
        for file in files:
            write_sample(file, os.path.join(folder, file))
        say(f"the demo is: preflow samples {' '.join(files)}")
        say(f"             preflow {ctx.info_name} {' '.join([self.demos[name], *map(shlex.quote, rest)])}")
        return [os.path.join(folder, word) if word in files else word for word in words] + rest

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the docstring, indented."""
        formatter.write_paragraph()
        formatter.write(textwrap.indent(self.help or "", "  ") + "\n")


class Program(Command):
    """A command whose deliberate errors become a line on standard error and an exit code.

    Any other exception is a bug and keeps its traceback.
    """

    def make_context(self, *arguments: Any, **keywords: Any) -> click.Context:
        """Read the arguments, which may print the help."""
        with _errors_as_exit_codes():
            return super().make_context(*arguments, **keywords)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _errors_as_exit_codes(lambda: self._called(ctx)), _messages_on_stderr():
            return super().invoke(ctx)

    def start(self, name: str, arguments: Sequence[str] | None = None) -> None:
        """Run the program in its process, with the arguments of the process if none are given."""
        prepare_streams()
        interrupts.start()
        try:
            self.main(arguments, prog_name=name)
        except SystemExit as ending:
            if interrupts.happened and isinstance(ending.code, int):
                interrupts.end(ending.code)
            raise

    def _called(self, ctx: click.Context) -> click.Command:
        """Return the command that the user has called."""
        return self


class ProgramGroup(Program, click.Group):
    """A program that has commands."""

    def _called(self, ctx: click.Context) -> click.Command:
        name = ctx.invoked_subcommand
        return self if name is None else self.get_command(ctx, name) or self


def as_told_by(command: click.Command, error: PreflowError) -> str:
    """Return the text of an error for those who called a command: advice has options in place of arguments.

    Advice for which the command has no option is left out.
    """
    said = [error.problem]
    options = command.get_params(click.Context(command)) if error.advice else []
    for argument, value, effect in error.advice:
        option = next((each for each in options if each.name == argument), None)
        if not isinstance(option, click.Option) or (isinstance(value, bool) and not option.is_flag):
            continue
        if option.is_flag and value is not True:
            continue
        written = ",".join(value) if isinstance(value, tuple) else str(value)
        spelled = max(option.opts, key=len) + ("" if option.is_flag else f" {shlex.quote(written)}")
        said.append(f"{spelled} {effect}")
    return "; ".join(said)


@contextmanager
def _errors_as_exit_codes(called: Callable[[], click.Command] | None = None) -> Iterator[None]:
    """Turn a deliberate error into a line on standard error and an exit code."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except PreflowError as error:
        say(f"error: {error.problem if called is None else as_told_by(called(), error)}")
        raise Exit(exit_code(error)) from error
    except MemoryError as error:
        say(f"error: not enough memory: {error}")
        raise Exit(BAD_INPUT) from error
    except KeyboardInterrupt as interrupt:
        say("interrupted")
        raise Exit(INTERRUPTED) from interrupt
    except BrokenPipeError as error:
        _drop_output(sys.stdout)
        raise Exit(BROKEN_PIPE) from error
    except OSError as error:
        if error.filename is None:  # not a file that was opened by name
            _drop_output(sys.stdout)
        say(f"error: {error.filename or 'standard output'}: {error.strerror or error}")
        raise Exit(BAD_INPUT) from error
    except Exception as error:
        # If Ctrl-C interrupts a compilation, Numba may raise an error of its own instead.
        if not interrupts.happened or isinstance(error, Exit):
            raise
        say("interrupted")
        raise Exit(INTERRUPTED) from error


def _drop_output(stream: TextIO) -> None:
    """Discard the buffer of a stream that cannot be written; the interpreter flushes it at its end."""
    with suppress(io.UnsupportedOperation):  # a stream in memory
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def prepare_streams() -> None:
    """Prevent errors of printing: characters without encoding, and streams that the shell has closed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def exit_code(error: PreflowError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, VerificationError):
        return VERIFICATION_FAILED
    if isinstance(error, MissingDependencyError | DeviceUnavailableError):
        return MISSING_EXTRA
    return BAD_INPUT


def exit_by_status(status: str, *, approximate: bool = False) -> None:
    """End the command with the exit code of a result that is not optimal.

    `approximate`: whether an approximate method was asked for, so that its result is as asked for.
    """
    if status == "time-limit":
        raise Exit(TIME_LIMIT_REACHED)
    if status == "unproved" or (status == "approximate" and not approximate):
        raise Exit(NOT_PROVED_OPTIMAL)


class InterruptWatch:
    """Ends the process soon after Ctrl-C, also while Python cannot act on it.

    KeyboardInterrupt waits for a solver to return, which it cannot while it compiles, and for any call into
    compiled code. So a thread waits as well, and ends the process if that takes longer than `grace` seconds;
    None waits for a second Ctrl-C, which always ends the process. `happened` says whether Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self.grace: float | None = 0.7
        self.happened = False

    def start(self) -> None:
        """Start to watch, unless Ctrl-C is ignored, as in background jobs of a shell script."""
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        readable, writable = os.pipe()
        os.set_blocking(writable, False)
        signal.set_wakeup_fd(writable)
        signal.signal(signal.SIGINT, self._interrupt)
        threading.Thread(target=self._watch, args=(readable,), name="preflow-ctrl-c", daemon=True).start()

    def end(self, code: int) -> NoReturn:
        """End the process without clean-up, which was seen to crash after an interrupted compilation."""
        sys.stderr.flush()
        os._exit(code)

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:
        self.happened = True
        # KeyboardInterrupt within a callback of LLVM is printed with its traceback and goes no further.
        sys.unraisablehook = lambda unraisable: None
        raise KeyboardInterrupt

    def _watch(self, signals: int) -> None:
        os.read(signals, 1)
        select.select([signals], [], [], self.grace)
        say("interrupted")
        self.end(INTERRUPTED)


#: The watch of this process, which `main` starts.
interrupts = InterruptWatch()


@contextmanager
def solver_progress() -> Iterator[bool | Reporter]:
    """Yield the ``progress`` argument of a solver: a bar on the terminal once the solve takes a while."""
    if not sys.stderr.isatty():
        yield False
        return
    with ExitStack() as on_screen:
        draw: Callable[[ProgressReport], None] | None = None

        def report(moment: ProgressReport) -> None:
            nonlocal draw
            if draw is None and moment.elapsed >= PATIENCE:
                draw = on_screen.enter_context(reporting(True))
            if draw is not None:
                draw(moment)

        yield report


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show `what` on the terminal once the work in the block has taken a while."""
    if not sys.stderr.isatty():
        yield
        return
    with ExitStack() as on_screen:

        def show() -> None:
            from tqdm import tqdm

            columns, lines = shutil.get_terminal_size()
            layout = {"bar_format": "{desc}", "ncols": columns, "nrows": lines}
            on_screen.enter_context(tqdm(desc=f"{what} ...", leave=False, **layout))

        patience = threading.Timer(PATIENCE, show)
        patience.daemon = True
        patience.start()
        try:
            yield
        finally:
            patience.cancel()
            patience.join()


class Steps:
    """The steps of a command, and the seconds of each."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, phase: str, what: str) -> Iterator[None]:
        """Do as :func:`working`, and keep the time."""
        start = time.perf_counter()
        with working(what):
            yield
        self.seconds[phase] = time.perf_counter() - start

    def solve(self, phase: str, function: Callable[..., Answer], *data: Any, **options: Any) -> Answer:
        """Call a solver, whose progress the terminal shows, and keep the time."""
        start = time.perf_counter()
        with solver_progress() as progress:
            answer = function(*data, progress=progress, **options)
        self.seconds[phase] = time.perf_counter() - start
        return answer

    def verify(self, answer: Any) -> None:
        """Prove an answer."""
        with self.timed("verify", "verifying"):
            answer.verify()


class _StderrMessages(logging.Handler):
    """Print log messages; warnings have their level in front, except those about compiling."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("compiling"):
            say(record.getMessage())
        elif record.levelno >= logging.WARNING:
            say(f"{record.levelname.lower()}: {record.getMessage()}")
        else:
            _print_on_stderr(record.getMessage())


@contextmanager
def _messages_on_stderr() -> Iterator[None]:
    logger = logging.getLogger("preflow")
    handler, level = _StderrMessages(logging.INFO), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_where, **_more: say(f"warning: {message}")
            yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def say(message: str) -> None:
    """Print a message of the program, which is not part of its output, to standard error."""
    _print_on_stderr(f"preflow: {message}")


def _print_on_stderr(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:  # nobody can be told
        _drop_output(sys.stderr)
