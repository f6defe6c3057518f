//! The async runtime.

use crate::fault::CliError;

/// Runs a future to its end. Does not wait for threads that are still reading from a terminal.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::failed(format!("could not set up a runtime: {error}")))?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
