// What the system's tools (top -H, perf, gdb) call the calling thread.

#pragma once

#include <pthread.h>

namespace petalite {

// At most 15 characters; a longer name is not taken.
inline void NameThread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace petalite
