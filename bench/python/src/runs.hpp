#pragma once

// Long work on behalf of Python: it runs without the GIL, so that agents in Python and other
// threads of the process go on, and ends early at Ctrl-C.

#include <pybind11/pybind11.h>

#include <atomic>
#include <functional>

namespace emplace::python {

/// Says whether agents may run now. Ask with the GIL: then agents may be added without a race.
bool is_running();

/// Calls `body` in another thread and waits for it without the GIL. Python's handlers of signals
/// run meanwhile; when one of them raises, `stop` turns true, and its exception is thrown when
/// `body` has returned. After Ctrl-C a second one ends the process. Throws what `body` throws. Call
/// it with the GIL.
void run_interruptibly(const std::function<void(const std::atomic<bool>& stop)>& body);

/// Throws kUsage unless `threads` is a number of threads, or 0 for all cores.
void check_threads(int threads);

/// Adds place() and what runs and reads suites to the module.
void bind_runs(pybind11::module_& module);

}  // namespace emplace::python
