// What must not be left behind when Ctrl-C, or a signal to end, stops a command: the folders it works in and a bar on
// the screen. The process still ends by the signal, as a shell expects.
#pragma once

namespace warpwright::cli {

// To be called once, before any work.
void clean_up_on_signals();

// Remembers a folder that a signal removes. At most a few at a time; one more is not remembered.
void remove_on_signal(const char* folder);
void forget(const char* folder);

// Whether a bar is on the screen, which a signal then takes away.
void bar_is_shown(bool shown);

}  // namespace warpwright::cli
