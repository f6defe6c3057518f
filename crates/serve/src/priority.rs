//! Lets runs go before the people who watch them: the thread that serves HTTP gets less of a busy processor.

/// How much nicer the serving thread is than the others. A thread that is 5 nicer gets a third of what others get.
#[cfg(target_os = "linux")]
const NICER: i32 = 5;

/// Lowers the priority of the calling thread, and of threads that it starts later. Runs are driven by a thread of their own,
/// which keeps its priority.
#[cfg(target_os = "linux")]
pub(crate) fn yield_to_runs() {
    use rustix::process::{getpriority_process, setpriority_process};

    // On Linux this is a property of a thread. It never fails for a lower priority; if it did, all would go on as equals.
    let own = getpriority_process(None).unwrap_or_default();
    let _ = setpriority_process(None, (own + NICER).min(19));
}

/// Elsewhere a priority belongs to the whole process, so there is nothing to gain.
#[cfg(not(target_os = "linux"))]
pub(crate) fn yield_to_runs() {}
