//! The handlers of one workspace: its runs, their logs, and what is handed over to this worker.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use updraft_run::RunId;

use crate::changes::{CHANGED, ChangeLog};
use crate::hands::Hands;
use crate::invocation::{Command, Invocation};
use crate::messages::{AdoptRequest, AdvanceRequest, LogEntry, ObjectHead, StartRequest, TellRequest};
use crate::run_log::{FoldedRuns, RunLog};
use crate::runs_object::{self, ENTRY, FoldedRun, HandlerFault, commands_of, head_of, json, parse};

/// A workspace that this process works in.
pub(crate) struct HostedWorkspace {
    pub(crate) log: RunLog,
    pub(crate) folded: FoldedRuns,
    pub(crate) hands: Arc<Hands>,
    pub(crate) changes: Arc<ChangeLog>,
    /// The machine of this process.
    pub(crate) machine: String,
}

/// The run that was started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartedRun {
    pub(crate) run: String,
}

impl HostedWorkspace {
    /// What a handler does; `None` if there is no such handler.
    pub(crate) async fn carry_out(
        &self,
        service: &str,
        handler: &str,
        invocation: &Invocation,
    ) -> Option<Result<Vec<Command>, HandlerFault>> {
        let names = &self.log.names;
        let result = if service == names.runs() {
            match handler {
                "attach" => runs_object::attach(invocation, &self.machine),
                "adopt" => Box::pin(self.adopt(invocation)).await,
                "advance" | "tell" => Box::pin(self.decide(handler, invocation)).await,
                "head" => head_of(invocation).and_then(|head| Ok(vec![Command::Output(json(&head)?)])),
                _ => return None,
            }
        } else if service == names.log() {
            match handler {
                "put" => Ok(vec![
                    Command::Set { key: ENTRY, value: invocation.input.clone() },
                    Command::Output(b"null".to_vec()),
                ]),
                "read" => {
                    let entry = invocation.state.get(ENTRY).cloned();
                    Ok(vec![Command::Output(entry.unwrap_or_else(|| b"null".to_vec()))])
                }
                _ => return None,
            }
        } else if service == names.hands() {
            match handler {
                "perform" => self.perform(invocation).await,
                "start" => Box::pin(self.start(invocation)).await,
                CHANGED => self.changed(invocation),
                _ => return None,
            }
        } else {
            return None;
        };
        Some(result)
    }

    async fn adopt(&self, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
        if let Some(stored) = invocation.replayed.first() {
            return self.completed(invocation, stored);
        }
        let (head, request): (ObjectHead, AdoptRequest) = (head_of(invocation)?, parse(&invocation.input)?);
        runs_object::check_adopt(&request, &head)?;
        let folded = if request.from == 0 {
            FoldedRun { head: ObjectHead { epoch: head.epoch, ..ObjectHead::default() }, ..FoldedRun::default() }
        } else {
            self.folded.take(&self.log, &invocation.key, head).await?
        };
        let (entry, folded) = runs_object::adopt(request, folded)?;
        self.decided(invocation, &entry, folded)
    }

    async fn decide(&self, handler: &str, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
        if let Some(stored) = invocation.replayed.first() {
            return self.completed(invocation, stored);
        }
        // What can be refused is, before the run is taken from the cache or read.
        let (head, input) = (head_of(invocation)?, &invocation.input);
        let (entry, folded) = if handler == "tell" {
            let request: TellRequest = parse(input)?;
            runs_object::check_tell(&request, &head)?;
            runs_object::tell(request, self.folded.take(&self.log, &invocation.key, head).await?)
        } else {
            let request: AdvanceRequest = parse(input)?;
            runs_object::check_advance(&request, &head)?;
            runs_object::advance(&request, self.folded.take(&self.log, &invocation.key, head).await?)
        }?;
        self.decided(invocation, &entry, folded)
    }

    /// A decision that was stored is completed, and not taken again.
    fn completed(&self, invocation: &Invocation, stored: &[u8]) -> Result<Vec<Command>, HandlerFault> {
        let entry: LogEntry = parse(stored)?;
        self.note_change(invocation, &entry);
        commands_of(&invocation.key, &entry, &self.log.names)
    }

    fn decided(
        &self,
        invocation: &Invocation,
        entry: &LogEntry,
        folded: FoldedRun,
    ) -> Result<Vec<Command>, HandlerFault> {
        self.folded.keep(&invocation.key, folded);
        self.note_change(invocation, entry);
        commands_of(&invocation.key, entry, &self.log.names)
    }

    /// Others hear of a run once it is here as a whole.
    fn note_change(&self, invocation: &Invocation, entry: &LogEntry) {
        if !entry.head.is_partial {
            self.changes.note(&invocation.key, entry.head.records);
        }
    }

    async fn perform(&self, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
        self.hands.take(parse(&invocation.input)?).await?;
        Ok(vec![Command::Output(b"null".to_vec())])
    }

    /// Starts a run here. Its id follows from the request, so that one that comes again starts no second run.
    async fn start(&self, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
        let request: StartRequest = parse(&invocation.input)?;
        let id = if let Some(run) = &request.run {
            RunId::parse(run).map_err(HandlerFault::unreadable)?
        } else {
            let hash = Sha256::digest(&invocation.id);
            RunId::from_bits(hash.first_chunk::<10>().copied().unwrap_or_default())
        };
        self.hands.start(id.clone(), request).await?;
        Ok(vec![Command::Output(json(&StartedRun { run: id.to_string() })?)])
    }

    fn changed(&self, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
        Ok(vec![Command::Output(json(&self.changes.since(&parse(&invocation.input)?))?)])
    }
}
