//! Restate as a home for runs: their records and the decisions about them live in its durable objects, and workers
//! perform their effects.
//!
//! A [`RestateHome`] is given to the engine as its `home`. It serves the handlers that Restate calls, and takes what
//! Restate hands over. The protocol is spoken by this crate itself: handlers last milliseconds, never wait inside
//! Restate, and need five messages of it (docs/decisions/0047).
//!
//! | to read | file |
//! |---|---|
//! | how a run is decided about | `runs_object.rs`, with the forms in `messages.rs` |
//! | how effects reach the engine | `hands.rs`, `restate_home.rs` |
//! | one invocation, and its bytes | `invocation.rs`, `wire.rs` |
//! | the HTTP server and client | `endpoint.rs`, `ingress.rs` |
//! | reading a run back | `run_log.rs` |
//! | what operators are told | `inspection.rs`, `callback_probe.rs` |

mod callback_probe;
mod endpoint;
mod hands;
mod ingress;
mod inspection;
mod invocation;
mod messages;
mod restate_home;
mod run_log;
mod runs_object;
mod service_names;
mod wire;

pub use callback_probe::CallbackFinding;
pub use hands::{WakeFuture, Waker};
pub use ingress::{CallFault, nodes_of};
pub use inspection::{AdminFinding, RegisteredWorker, ServerInspection, WaitingRequests, inspect};
pub use restate_home::{RestateHome, RestateOptions};
pub use service_names::ServiceNames;
