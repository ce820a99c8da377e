"""Start and end of `fred`: one error line for any failure, and no child process left running."""

# Slow imports happen inside the functions, where interrupts are handled.
import errno
import gc
import io
import os
import signal
import sys
import threading
import warnings
from types import FrameType
from typing import Any

__all__ = ["main"]

_STOPS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_asked: list[int] = []
"""Signals that requested termination."""

_MEMORY = ("Cannot allocate memory", "failed to reserve", "bad_alloc", "out of memory")


class _StopError(BaseException):
    """Termination requested by a signal; exception handlers in libraries do not catch it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main() -> None:
    """Run the command line and exit.

    The status is that of the command; 2 where a line on standard error says what is wrong with
    the input, the outputs or the memory; 1 where the reader of standard output went away; 128
    and the number of the signal after SIGINT and SIGTERM.
    """
    streams = sys.stdout, sys.stderr
    try:
        _begin()
        status = _run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except _StopError:
        status = 0
    except MemoryError:
        status = _no_memory()
    except OSError as error:
        status = _os_error(error)
    except Exception:
        if not _asked:
            raise
        status = 0
    if _asked:  # also where the interrupted work ended in another error
        status = 128 + _asked[0]
        _say(_STOPS[signal.Signals(_asked[0])])
    # The command has ended: ignore signals during the clean-up.
    _handle(signal.SIG_IGN)
    _leave_output()
    sys.stdout, sys.stderr = streams
    sys.exit(status)


def _begin() -> None:
    """Set up signals, standard streams and garbage collection."""
    _asked.clear()
    # Commands keep their objects, or drop them without reference cycles: a collection every 700
    # objects takes a quarter of the time of `fred reproduce` and frees nothing.
    gc.set_threshold(50_000, 20, 50)
    _handle(_stop)
    sys.unraisablehook = _unraisable
    # Amaranth warns so about hardware that an error or an interrupt leaves unfinished.
    warnings.filterwarnings("ignore", message=".* created but never used")
    # The next file to be opened would get the number of a closed descriptor, and all output.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = io.StringIO()
    sys.stdout, sys.stderr = _harmless(sys.stdout), _harmless(sys.stderr)


def _harmless(stream: Any) -> Any:
    """Return a stream that accepts any text, escaping unencodable and control characters."""
    from .streams import VisibleStream

    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return None if stream is None else VisibleStream(stream)


def _run() -> int:
    """Run the command; return its exit status."""
    if sys.stdout is None:
        return _refused("standard output: must be open, not closed")
    import click

    from fred_hw.errors import InputError, InputWarning

    from .cli import cli

    warnings.filterwarnings("default", category=InputWarning)  # show each text once
    warnings.showwarning = _show_warning
    try:
        status = cli.main(prog_name="fred", standalone_mode=False)
    except InputError as error:
        return _refused(str(error))
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "fred"
        return _refused(f"{command}: {error.format_message()}")
    except click.ClickException as error:
        return _refused(error.format_message())
    except click.Abort:
        return 128 + signal.SIGINT
    except Exception as error:
        if any(text in str(error) for text in _MEMORY):  # such as a lack of memory in WebAssembly
            return _no_memory()
        raise
    return status if isinstance(status, int) else 0


def _show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
    """Print a warning as one line; warnings about input omit the code location."""
    from fred_hw.errors import InputWarning, one_line

    name = "" if issubclass(category, InputWarning) else f"{category.__name__}: "
    _say(f"warning: {one_line(name + str(message))}")


def _refused(message: str) -> int:
    from fred_hw.errors import one_line

    return _say(f"error: {one_line(message)}")


def _no_memory() -> int:
    return _say("error: memory: must be more than this process may have")


def _say(line: str) -> int:
    """Print a line on standard error; return exit status 2, that of a refusal."""
    if _asked and line not in _STOPS.values():
        return 2
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:  # nobody reads standard error
        sys.stderr = io.StringIO()
    return 2


def _os_error(error: OSError) -> int:
    """Report an operating system error that no other code handles."""
    if isinstance(error, BrokenPipeError):
        return 1
    if error.errno == errno.ENOMEM:
        return _no_memory()
    name = "standard output" if error.filename is None else os.fsdecode(error.filename)
    return _refused(f"{name}: must be usable, not with: {error.strerror}")


def _leave_output() -> None:
    """Flush standard output; drop what cannot be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)


def _handle(action: Any) -> None:
    """Set the action of termination signals, except for signals that are ignored."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _STOPS:
        # A shell makes its background processes ignore interrupts.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, action)


def _stop(number: int, _frame: FrameType | None) -> None:
    """Kill the child processes, then end this process."""
    _asked.append(number)
    _end_children()
    raise _StopError(number)


def _end_children() -> None:
    """Kill all descendants of this process; code that waits for one then continues."""
    import psutil

    # The resource tracker of multiprocessing ends by itself after all other processes. If ended
    # earlier, it complains that it has not removed shared resources.
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    ends_itself = getattr(getattr(tracker, "_resource_tracker", None), "_pid", None)
    found: list[psutil.Process] = []
    known = [psutil.Process(ends_itself)] if ends_itself else []
    # Stop each process before looking for its children, so that none starts another meanwhile.
    while new := [one for one in psutil.Process().children(recursive=True) if one not in known]:
        found += new
        known += new
        _send(new, signal.SIGSTOP)
    _send(found, signal.SIGKILL)


def _send(processes: list[Any], number: int) -> None:
    for process in processes:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            continue


def _unraisable(what: Any) -> None:
    """Repeat a signal that arrived inside an object's destructor, where it would be lost."""
    if isinstance(what.exc_value, _StopError):
        # An exception raised here would be lost again.
        main, number = threading.main_thread().ident, what.exc_value.number
        again = threading.Timer(0.01, signal.pthread_kill, (main, number))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(what)
