//! Restate as a home for runs: their records and the decisions about them live in its durable objects, and workers
//! perform their effects.
//!
//! A [`RestateWorker`] serves the handlers that Restate calls, and has a [`RestateHome`] for each workspace, which is given
//! to the engine as its `home`. The protocol is spoken by this crate itself: handlers last milliseconds, never wait inside
//! Restate, and need five messages of it (docs/decisions/0047).
//!
//! | to read | file |
//! |---|---|
//! | how a run is decided about | `runs_object.rs`, with the forms in `messages.rs` |
//! | how effects reach the engine | `hands.rs`, `restate_home.rs` |
//! | a worker, its workspaces and where their files are | `worker.rs`, `workspaces_object.rs`, `shared_folder.rs` |
//! | starting a run on some worker | `run_order.rs` |
//! | who may call whom | `link.rs`, `identity.rs` |
//! | one invocation, and its bytes | `invocation.rs`, `wire.rs` |
//! | the HTTP server and client | `endpoint.rs`, `manifest.rs`, `hosted_workspace.rs`, `ingress.rs` |
//! | requests to a worker that is gone | `bound_requests.rs` |
//! | reading a run back, and copies of runs | `run_log.rs`, `run_projector.rs`, `changes.rs` |
//! | large values | `blob_store.rs`, `blob_folder.rs`, `blob_bucket.rs` |
//! | an S3-compatible store | `bucket_client.rs`, `bucket_address.rs`, `bucket_fault.rs`, `s3_signature.rs` |
//! | limits of models | `limits_object.rs`, `shared_limits.rs` |
//! | what operators are told | `inspection.rs`, `callback_probe.rs` |

mod blob_bucket;
mod blob_folder;
mod blob_store;
mod bound_requests;
mod bucket_address;
mod bucket_client;
mod bucket_fault;
mod callback_probe;
mod changes;
mod endpoint;
mod hands;
mod hosted_workspace;
mod identity;
mod ingress;
mod inspection;
mod invocation;
#[cfg(test)]
mod kept_log;
mod limits_object;
mod link;
mod manifest;
mod messages;
mod restate_home;
mod run_log;
mod run_order;
mod run_projector;
mod runs_object;
mod s3_signature;
mod service_names;
mod shared_folder;
mod shared_limits;
mod wire;
mod worker;
mod workspaces_object;

pub use blob_bucket::BlobBucket;
pub use blob_folder::BlobFolder;
pub use blob_store::BlobStore;
pub use bucket_address::{BucketSettings, is_bucket};
pub use bucket_fault::{BucketFault, StoreRefusal};
pub use callback_probe::CallbackFinding;
pub use hands::{RunStartFuture, RunStarter, StartFault, WakeFuture, Waker};
pub use identity::{IdentityKeyFault, IdentityKeys};
pub use ingress::{CallFault, nodes_of};
pub use inspection::{AdminFinding, RegisteredWorker, ServerInspection, WaitingRequests, inspect};
pub use limits_object::LimitTerms;
pub use link::{LinkFault, RestateLink, check_address};
pub use messages::StartRequest;
pub use restate_home::RestateHome;
pub use run_order::{NOBODY, NOT_BEGUN, OrderedRun, order};
pub use run_projector::RunProjector;
pub use service_names::ServiceNames;
pub use shared_folder::{make_shared_workspace_id, shared_workspace_id};
pub use shared_limits::LimitDesk;
pub use worker::{RestateWorker, WorkerOptions, WorkerStartFault, WorkspaceOptions};
pub use workspaces_object::{WorkerCard, WorkspaceCard};
