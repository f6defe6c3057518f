//! The ids of a run's trace and spans. They are functions of the run's id and of addresses in it, so that a resumed run
//! continues its trace, and a request names its span before the span is made from the journal.

use sha2::{Digest, Sha256};
use updraft_run::{EffectAddress, RunId, StepId, TraceParent};

/// The trace of a run.
pub fn trace_id(run: &RunId) -> [u8; 16] {
    hashed(run, "trace")
}

/// The span of the whole run.
pub fn run_span(run: &RunId) -> [u8; 8] {
    hashed(run, "run")
}

/// The span of one visit of a step.
pub fn visit_span(run: &RunId, step: &StepId, visit: u32) -> [u8; 8] {
    hashed(run, &format!("visit {step}/{visit}"))
}

/// The span of a question to a model or of a call.
pub fn effect_span(run: &RunId, address: &EffectAddress) -> [u8; 8] {
    hashed(run, &format!("effect {address}"))
}

/// What the request of an effect carries.
pub(crate) fn trace_parent(run: &RunId, address: &EffectAddress) -> TraceParent {
    TraceParent { trace: trace_id(run), span: effect_span(run, address) }
}

fn hashed<const N: usize>(run: &RunId, what: &str) -> [u8; N] {
    let hash: [u8; 32] = Sha256::digest(format!("updraft {run} {what}")).into();
    let mut id = [0; N];
    id.copy_from_slice(&hash[..N]);
    // An id of zeros would be invalid.
    if id == [0; N] {
        id[N - 1] = 1;
    }
    id
}
