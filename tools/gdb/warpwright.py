"""Commands of gdb for a kernel in the simulator. `./warpwright check FILE.cpp --debug` starts gdb with them.

  ww where               which thread of the kernel runs: role, CTA, warp, lane
  ww threads [ROLE]      what every thread does, those that are alike in one line
  ww stack [THREAD]      the lines of the kernel that a thread stands in; the one that runs without a name
  ww barriers [NAME]     phases, arrivals and bytes of the barriers
  ww in THREAD COMMAND   a command of gdb in another thread: ww in load bt, ww in math.2:5@1 print sum
  ww findings on|off     stop where the checker finds something (on)

THREAD is a role or the number of a warp, then, where it matters, .WARP of the role, :LANE and @CTA.
In expressions: $ww_cta(), $ww_warp(), $ww_lane(), and $ww_role("load"), which is 1 in a thread of that role:

  break row_norms.h:63 if $ww_role("math") && $ww_warp() == 2 && $ww_lane() == 0
"""
import os
import re

import gdb

# The registers that a fiber has saved, by their distance from the address that stands for it (Boost.Context, x86-64).
SAVED = {"r12": 8, "r13": 16, "r14": 24, "r15": 32, "rbx": 40, "rbp": 48, "rip": 56}
FRAME_BYTES = 64


def ask(function, result, *arguments):
    """Calls a function of src/sim/debug/debug.cpp."""
    types = ", ".join("int" for _ in arguments) or "void"
    values = ", ".join(str(int(a)) for a in arguments)
    try:
        return gdb.parse_and_eval(f"(({result} (*)({types})) warpwright_debug_{function})({values})")
    except gdb.error as error:
        raise gdb.GdbError(f"the run cannot be asked: {error}") from None


def text_of(function):
    return ask(function, "const char*").string()


addresses = {}  # of variables, in each process


def bytes_of(variable, size):
    """Read and not called: conditions of breakpoints ask thousands of times."""
    key = (variable, gdb.selected_inferior().pid)
    try:
        if key not in addresses:
            addresses[key] = int(gdb.parse_and_eval(f"(unsigned long) &warpwright_debug_{variable}"))
        return bytes(gdb.selected_inferior().read_memory(addresses[key], size))
    except gdb.error as error:
        raise gdb.GdbError(f"the run cannot be asked: {error}") from None


def place(which):
    return int.from_bytes(bytes_of("place", 12)[4 * which:4 * which + 4], "little", signed=True)


def role():
    return bytes_of("role", 32).partition(b"\0")[0].decode()


def who():
    if place(2) < 0:
        return "outside of the kernel: the simulator or the host runs"
    return f"{role()}: CTA {place(0)}, warp {place(1)}, lane {place(2)}"


def rows(function):
    return [line.split("\t") for line in text_of(function).splitlines()]


def ranges(numbers):
    """0-3, 7"""
    parts = []
    for n in sorted(numbers):
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def find_thread(word):
    """(cta, warp, lane) of THREAD."""
    found = re.fullmatch(r"([A-Za-z_]\w*|\d+)(?:\.(\d+))?(?::(\d+))?(?:@(\d+))?", word)
    if not found:
        raise gdb.GdbError(f"'{word}' names no thread: ROLE or the number of a warp, then .WARP, :LANE and @CTA.")
    name, of_role, lane, cta = found.groups()
    cta = cta if cta is not None else str(max(place(0), 0))
    fits = [row for row in rows("threads") if row[0] == cta and (row[1] == name or row[4] == name)
            and (of_role is None or row[2] == of_role) and (lane is None or row[3] == lane)]
    if not fits:
        raise gdb.GdbError(f"there is no thread {word} in CTA {cta}; 'ww threads' lists them.")
    # Lanes that only wait for their warp say less than the one that they wait for.
    fits.sort(key=lambda row: row[5] == "has ended" or "other lanes" in row[5])
    return tuple(int(n) for n in (fits[0][0], fits[0][1], fits[0][3]))


def frames():
    """Those with a line of source, from the innermost on, and whether it is the user's, as far as folders tell."""
    frame = gdb.newest_frame()
    while frame is not None:
        place_of = frame.find_sal()
        if place_of.symtab is not None:
            yield frame, place_of, re.search(r"/include/(warpwright|c\+\+)/", place_of.symtab.fullname()) is None
        frame = frame.older()


def own_frame():
    """The innermost frame in a file of the user's."""
    return next((frame for frame, _, own in frames() if own), None)


def short(name):
    """The name of a function without its namespaces, arguments and types; lambdas by the function they stand in."""
    name = re.sub(r"\{lambda\(.*?\)#\d+\}", "lambda", name or "?")
    while re.search(r"<[^<>]*>|\([^()]*\)", name):
        name = re.sub(r"<[^<>]*>|\([^()]*\)", "", name)
    parts = [part for part in re.sub(r"\s*const$", "", name).split("::") if part not in ("operator", "")]
    if "lambda" in parts:
        return f"a lambda of {parts[parts.index('lambda') - 1]}"
    return parts[-1].split(" ")[-1]


def print_stack():
    """The lines of the kernel, and the word of the machine that the innermost of them is in."""
    word = None
    for frame, place_of, own in frames():
        if own:
            inside = f", in {word}" if word else ""
            print(f"{os.path.basename(place_of.symtab.filename)}:{place_of.line}  {short(frame.name())}{inside}")
            word = None
        elif re.search(r"/(machine|pipeline)/", place_of.symtab.fullname()) and not place_of.symtab.filename.endswith("/here.h"):
            word = short(frame.name())


def in_context(context, action):
    """Calls a function with the registers that a fiber has saved, and puts the real ones back."""
    if gdb.selected_frame().architecture().name() != "i386:x86-64":
        raise gdb.GdbError("ww in: the registers of a fiber are known for x86-64 only.")
    gdb.newest_frame().select()
    frame = gdb.newest_frame()
    names = [*SAVED, "rsp"]
    before = {name: int(frame.read_register(name)) & (2**64 - 1) for name in names}

    def put(values):
        gdb.newest_frame().select()
        for name in names:
            gdb.execute(f"set ${name} = {values[name]:#x}", to_string=True)

    memory = gdb.selected_inferior().read_memory(context, FRAME_BYTES)
    saved = {name: int.from_bytes(memory[at:at + 8], "little") for name, at in SAVED.items()}
    saved["rsp"] = context + FRAME_BYTES
    try:
        put(saved)
        frame = own_frame()
        if frame is not None:
            frame.select()
        action()
    finally:
        put(before)


class Prefix(gdb.Command):
    __doc__ = __doc__

    def __init__(self):
        super().__init__("ww", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


class Where(gdb.Command):
    """Which thread of the kernel runs: role, CTA, warp, lane."""

    def __init__(self):
        super().__init__("ww where", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        print(who())


class Threads(gdb.Command):
    """What every thread of the kernel does: ww threads [ROLE]"""

    def __init__(self):
        super().__init__("ww threads", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        alike = {}
        for cta, warp, _, lane, role, state, at in rows("threads"):
            if argument in ("", role):
                alike.setdefault((int(cta), role, state, "" if state in ("has ended", "runs") else at),
                                 {}).setdefault(int(warp), []).append(int(lane))
        for (cta, role, state, at), warps in alike.items():
            same = {}
            for warp, lanes in warps.items():
                same.setdefault(ranges(lanes), []).append(warp)
            for lanes, numbers in same.items():
                where = f"  {at}" if at.strip(":0") else ""
                print(f"CTA {cta}  {role:<10} warp {ranges(numbers)}  lane {lanes}: {state}{where}")
        if not alike:
            print("no kernel runs")


class Barriers(gdb.Command):
    """Phases, arrivals and bytes of the barriers of the kernel: ww barriers [NAME]"""

    def __init__(self):
        super().__init__("ww barriers", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        shown = [row for row in rows("barriers") if argument in row[1]]
        for cta, name, phase, came, count, transfer, waiters in shown:
            line = f"CTA {cta}  {name:<16} phase {phase}: {came} of {count} arrivals"
            line += f", {transfer} bytes to come" if transfer != "0" else ""
            print(line + (f"; {waiters} waits" if waiters else ""))
        if not shown:
            print("no barrier is initialised")


def in_thread(word, action):
    cta, warp, lane = find_thread(word)
    context = int(ask("context", "const void*", cta, warp, lane))
    if context:
        in_context(context, action)
    elif (cta, warp, lane) == (place(0), place(1), place(2)):
        action()
    else:
        raise gdb.GdbError(f"{word} has ended.")


class In(gdb.Command):
    """A command of gdb in another thread of the kernel: ww in THREAD COMMAND"""

    def __init__(self):
        super().__init__("ww in", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        word, _, command = argument.strip().partition(" ")
        if not command.strip():
            raise gdb.GdbError("ww in THREAD COMMAND, such as: ww in load bt")
        in_thread(word, lambda: gdb.execute(command))


class Stack(gdb.Command):
    """The lines of the kernel that a thread stands in: ww stack [THREAD]"""

    def __init__(self):
        super().__init__("ww stack", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if argument.strip():
            in_thread(argument.strip(), print_stack)
        else:
            print_stack()


class Findings(gdb.Command):
    """Whether gdb stops where the checker finds something: ww findings on|off"""

    def __init__(self):
        super().__init__("ww findings", gdb.COMMAND_BREAKPOINTS)
        self.breakpoint = FindingStop("warpwright_debug_finding", internal=True)

    def invoke(self, argument, from_tty):
        if argument not in ("on", "off"):
            raise gdb.GdbError("ww findings on|off")
        self.breakpoint.enabled = argument == "on"


class FindingStop(gdb.Breakpoint):
    def stop(self):
        frame = gdb.newest_frame()
        text = gdb.selected_inferior()
        strings = []
        for register in ("rdi", "rsi"):
            memory, address = b"", int(frame.read_register(register)) & (2**64 - 1)
            while b"\0" not in memory and len(memory) < 4096:
                memory += bytes(text.read_memory(address + len(memory), 1))
            strings.append(memory.split(b"\0")[0].decode(errors="replace"))
        print(f"\nfinding: {strings[0]}: {strings[1]}")
        return True


class Number(gdb.Function):
    """The CTA, the warp or the lane of the thread that runs; -1 outside of the kernel."""

    def __init__(self, name, which):
        super().__init__(f"ww_{name}")
        self.which = which

    def invoke(self):
        return place(self.which)


class Role(gdb.Function):
    """Whether the thread that runs has this role: $ww_role("load")"""

    def __init__(self):
        super().__init__("ww_role")

    def invoke(self, name):
        return int(role() == name.string())


def set_up():
    # The simulator's own clock, and faults of kernels, which it reports: the latter stop here first.
    for line in ("set breakpoint pending on", "set pagination off", "set debuginfod enabled off", "set confirm off",
                 "set print thread-events off", "handle SIG62 nostop noprint pass",
                 # `step` goes into the user's functions, not into words and handles.
                 "skip -gfi */include/warpwright/*", "skip -gfi */include/c++/*"):
        try:
            gdb.execute(line, to_string=True)
        except gdb.error:
            pass  # an older gdb does not have it
    for make in (Prefix, Where, Threads, Stack, Barriers, In, Findings, Role):
        make()
    for which, name in enumerate(("cta", "warp", "lane")):
        Number(name, which)


set_up()
