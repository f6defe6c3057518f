//! The names that a worker's handlers have in Restate.

/// The services of one worker. Its runs belong to it, because their files do; another process with the same name takes
/// them over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceNames {
    worker: String,
}

impl ServiceNames {
    /// Checks the name of a worker: 1 to 40 letters, digits, `_`, `-`.
    pub fn new(worker: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = (1..=40).contains(&worker.len()) && worker.chars().all(is_plain);
        fits.then(|| Self { worker: worker.to_owned() })
    }

    /// The worker's name.
    pub fn worker(&self) -> &str {
        &self.worker
    }

    /// The object of which there is one for each run.
    pub fn runs(&self) -> String {
        format!("Runs.{}", self.worker)
    }

    /// The service that effects are handed to.
    pub fn hands(&self) -> String {
        format!("Hands.{}", self.worker)
    }

    /// The object that keeps one entry of a run's log.
    pub fn log(&self) -> String {
        format!("Log.{}", self.worker)
    }

    /// The key of the entry that begins after this many records of a run.
    pub(crate) fn log_key(run: &str, before: u64) -> String {
        format!("{run}~{before}")
    }
}
