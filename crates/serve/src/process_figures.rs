//! What this process uses: memory, processor time, open files. Known on Linux only.

use updraft_workbench::observe::{MetricKind, MetricsText};

/// Ticks of processor time in a second: always 100 in `/proc`.
const TICKS: f64 = 100.0;

/// What a process uses, as the system says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProcessFigures {
    processor_seconds: f64,
    /// Seconds since 1970.
    started: f64,
    resident: f64,
    virtual_size: f64,
    threads: f64,
    open_files: Option<f64>,
}

impl ProcessFigures {
    /// What this process uses now; `None` where the system has no `/proc`.
    pub(crate) fn now() -> Option<Self> {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let open_files = std::fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
        Self::of(&read("/proc/self/stat")?, &read("/proc/self/status")?, &read("/proc/stat")?, open_files)
    }

    fn of(stat: &str, status: &str, system: &str, open_files: Option<f64>) -> Option<Self> {
        // The name of the program, in parentheses, may contain anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |n: usize| fields.get(n)?.parse::<f64>().ok();
        let line = |text: &str, key: &str| text.lines().find_map(|line| line.strip_prefix(key).map(str::to_owned));
        let resident: f64 = line(status, "VmRSS:")?.trim().strip_suffix("kB")?.trim().parse().ok()?;
        let booted: f64 = line(system, "btime ")?.trim().parse().ok()?;
        Some(Self {
            processor_seconds: (number(11)? + number(12)?) / TICKS,
            threads: number(17)?,
            started: booted + number(19)? / TICKS,
            virtual_size: number(20)?,
            resident: resident * 1024.0,
            open_files,
        })
    }

    /// Writes them under the names that all programs use for them.
    pub(crate) fn write(&self, text: &mut MetricsText) {
        use MetricKind::{Counter, Gauge};
        let help = "Processor time in user and system mode.";
        text.single("process_cpu_seconds_total", Counter, help, self.processor_seconds);
        text.single("process_resident_memory_bytes", Gauge, "Memory that is in use.", self.resident);
        text.single("process_virtual_memory_bytes", Gauge, "Memory that is reserved.", self.virtual_size);
        let help = "When the process began, in seconds since 1970.";
        text.single("process_start_time_seconds", Gauge, help, self.started);
        text.single("process_threads", Gauge, "Threads.", self.threads);
        if let Some(files) = self.open_files {
            text.single("process_open_fds", Gauge, "Open files and connections.", files);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_name_of_the_program_does_not_matter() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0 1000 4096 12 0";
        let status = "Name:\ta\nVmRSS:\t     2 kB\n";
        let found = ProcessFigures::of(stat, status, "cpu 1 2\nbtime 1700000000\n", Some(3.0)).unwrap();
        let expected = ProcessFigures {
            processor_seconds: 2.0,
            started: 1_700_000_010.0,
            resident: 2048.0,
            virtual_size: 4096.0,
            threads: 9.0,
            open_files: Some(3.0),
        };
        assert_eq!(found, expected);
    }
}
