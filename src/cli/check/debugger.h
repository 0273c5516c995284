// `check FILE --debug`: gdb on this very command.
#pragma once

namespace warpwright::cli {

// Whether this process was started by start_debugger().
bool is_debugged();
// Becomes gdb, which runs the command line of this process with the commands of tools/gdb at hand. WARPWRIGHT_GDB has
// the words to start it with (default: gdb). Throws MissingError where there is none.
[[noreturn]] void start_debugger();

}  // namespace warpwright::cli
