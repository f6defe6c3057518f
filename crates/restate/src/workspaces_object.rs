//! The object `Workspaces`, one for each workspace: which workers it has, what they can do, and where its files are.
//!
//! | handler | does |
//! |---|---|
//! | `join` | adds a worker that starts, or refuses it because it would not have the files of the runs |
//! | `leave` | notes that a worker was stopped |
//! | `choose` | names a worker for a new run: one that has the label, in turn |
//! | `assign` | gives a run to a worker: with the run's id as the key of the request, always to the first that was named |
//! | `show` | shows all that |

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::invocation::{Command, Invocation};
use crate::runs_object::{HandlerFault, json, parse};

/// The name of the service. Every worker offers it, and the one that registered last is called.
pub(crate) const WORKSPACES: &str = "Workspaces";
/// The key of an object's state.
pub(crate) const WORKSPACE: &str = "workspace";
/// The handlers that change something, and the one that does not.
pub(crate) const CHANGES: [&str; 4] = ["join", "leave", "choose", ASSIGN];
pub(crate) const ASSIGN: &str = "assign";
pub(crate) const SHOW: &str = "show";

/// A workspace and its workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceCard {
    /// The folder. Runs record it, so it is the same on every machine.
    pub folder: String,
    /// Whether several machines have the folder.
    pub is_shared: bool,
    /// The workers by name.
    pub workers: BTreeMap<String, WorkerCard>,
    /// Who got the last new run.
    pub last: String,
}

/// One worker of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerCard {
    /// Which machine, or rather which folder for Updraft's own files: a random text that is kept there.
    pub machine: String,
    /// The name of the machine, for people.
    pub host: String,
    /// What it can do besides the usual.
    pub labels: BTreeSet<String>,
    /// Whether it has not been stopped in an orderly way.
    pub is_present: bool,
    /// Which folder or bucket it keeps large values in; empty if it keeps them to itself.
    #[serde(default)]
    pub blobs: String,
}

/// A worker that starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JoinRequest {
    pub(crate) name: String,
    pub(crate) worker: WorkerCard,
    pub(crate) folder: String,
    pub(crate) is_shared: bool,
    /// It takes the place of a worker of the same name on another machine, which is gone.
    pub(crate) takes_over: bool,
}

/// A worker that was stopped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LeaveRequest {
    pub(crate) name: String,
    /// Another machine may have taken its place meanwhile.
    pub(crate) machine: String,
}

/// The request for a worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ChooseRequest {
    #[serde(default)]
    pub(crate) label: Option<String>,
}

impl WorkspaceCard {
    /// Adds a worker, or says why it cannot be one.
    pub(crate) fn join(&mut self, request: JoinRequest) -> Result<(), String> {
        let JoinRequest { name, worker, folder, is_shared, takes_over } = request;
        let others: Vec<&str> = self.workers.keys().filter(|known| **known != name).map(String::as_str).collect();
        if let Some(known) = self.workers.get(&name).filter(|known| known.machine != worker.machine)
            && !takes_over
        {
            return Err(format!(
                "the worker `{name}` is on another machine (`{}`), and its runs are there; give this one another \
                 --worker-name, or, if that machine is gone and the files are here, add --take-over",
                known.host
            ));
        }
        if !others.is_empty() && is_shared != self.is_shared {
            let (is, not) = if self.is_shared { ("shared", "without") } else { ("not shared", "with") };
            return Err(format!(
                "the workspace is {is} by its workers ({}), so none starts {not} --shared",
                others.join(", ")
            ));
        }
        if !self.workers.is_empty() && self.folder != folder && (is_shared || takes_over) {
            return Err(format!(
                "the workspace is `{}` for its runs, and `{folder}` here; let it have the same path on every machine",
                self.folder
            ));
        }
        // Whoever takes over needs the large values of the runs; a worker that kept them to itself has taken them along.
        let must_agree = |known: &str, card: &WorkerCard| known != name || (takes_over && !card.blobs.is_empty());
        if let Some((other, _)) =
            self.workers.iter().find(|(known, card)| must_agree(known, card) && card.blobs != worker.blobs)
        {
            return Err(format!(
                "the worker `{other}` keeps large values elsewhere; name the same folder or bucket with --blobs"
            ));
        }
        (self.folder, self.is_shared) = (folder, is_shared);
        self.workers.insert(name, WorkerCard { is_present: true, ..worker });
        Ok(())
    }

    /// Notes that a worker was stopped, unless another machine has its place.
    fn leave(&mut self, LeaveRequest { name, machine }: &LeaveRequest) {
        if let Some(worker) = self.workers.get_mut(name).filter(|worker| worker.machine == *machine) {
            worker.is_present = false;
        }
    }

    /// Names the next worker that has a label, in turn; those that were stopped only if there is no other.
    pub(crate) fn choose(&mut self, label: Option<&str>) -> Result<(), String> {
        let has = |worker: &WorkerCard| label.is_none_or(|label| worker.labels.contains(label));
        let fit: Vec<(&String, &WorkerCard)> = self.workers.iter().filter(|(_, worker)| has(worker)).collect();
        let present: Vec<&String> = fit.iter().filter(|(_, worker)| worker.is_present).map(|(name, _)| *name).collect();
        let all: Vec<&String> = fit.iter().map(|(name, _)| *name).collect();
        let candidates = if present.is_empty() { all } else { present };
        let next =
            candidates.iter().find(|name| ***name > self.last).or(candidates.first()).map(|name| (*name).clone());
        self.last = next.ok_or_else(|| self.lack(label))?;
        Ok(())
    }

    fn lack(&self, label: Option<&str>) -> String {
        if self.workers.is_empty() {
            return "there is no such workspace, since no worker of it was ever started".to_owned();
        }
        let described = self.workers.iter().map(|(name, worker)| {
            let labels: Vec<&str> = worker.labels.iter().map(String::as_str).collect();
            format!("{name} ({})", if labels.is_empty() { "no labels".to_owned() } else { labels.join(", ") })
        });
        let described: Vec<String> = described.collect();
        format!(
            "no worker of the workspace has the label `{}`; available: {}",
            label.unwrap_or_default(),
            described.join(", ")
        )
    }
}

/// What a handler does.
pub(crate) fn carry_out(handler: &str, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
    if handler == ASSIGN {
        // Restate gives the same answer to every request with the same key.
        return Ok(vec![Command::Output(invocation.input.clone())]);
    }
    let mut card: WorkspaceCard = match (invocation.replayed.first(), invocation.state.get(WORKSPACE)) {
        // It was changed and stored, but nobody heard of it.
        (Some(stored), _) => return Ok(changed(stored.clone())),
        (None, Some(card)) => parse(card)?,
        (None, None) => WorkspaceCard::default(),
    };
    let done = match handler {
        "join" => card.join(parse(&invocation.input)?),
        "leave" => {
            card.leave(&parse(&invocation.input)?);
            Ok(())
        }
        "choose" => card.choose(parse::<ChooseRequest>(&invocation.input)?.label.as_deref()),
        _ => return Ok(vec![Command::Output(json(&card)?)]),
    };
    done.map_err(|why| HandlerFault::Refused(422, why))?;
    Ok(changed(json(&card)?))
}

fn changed(card: Vec<u8>) -> Vec<Command> {
    vec![Command::Set { key: WORKSPACE, value: card.clone() }, Command::Output(card)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joining(name: &str, machine: &str, labels: &[&str]) -> JoinRequest {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let (machine, host) = (machine.to_owned(), format!("host of {machine}"));
        let worker = WorkerCard { machine, host, labels, ..WorkerCard::default() };
        JoinRequest { name: name.into(), worker, folder: "/work".into(), is_shared: false, takes_over: false }
    }

    fn shared(name: &str, labels: &[&str]) -> JoinRequest {
        JoinRequest { is_shared: true, ..joining(name, name, labels) }
    }

    #[test]
    fn a_worker_comes_back_on_its_machine_and_on_another_only_if_that_is_said() {
        let mut card = WorkspaceCard::default();
        card.join(joining("w1", "one", &[])).unwrap();
        card.join(joining("w1", "one", &["gpu"])).unwrap();
        let refused = card.join(joining("w1", "two", &[])).unwrap_err();
        assert!(refused.contains("host of one") && refused.contains("--take-over"), "{refused}");
        card.join(JoinRequest { takes_over: true, ..joining("w1", "two", &[]) }).unwrap();
        assert_eq!(card.workers["w1"].machine, "two");
        let elsewhere = JoinRequest { takes_over: true, folder: "/other".into(), ..joining("w1", "two", &[]) };
        assert!(card.join(elsewhere).unwrap_err().contains("same path"));
        card.leave(&LeaveRequest { name: "w1".into(), machine: "one".into() });
        assert!(card.workers["w1"].is_present, "the one that was taken over from does not speak for its successor");
        card.leave(&LeaveRequest { name: "w1".into(), machine: "two".into() });
        assert!(!card.workers["w1"].is_present);
    }

    #[test]
    fn whoever_takes_over_has_the_large_values_of_the_runs() {
        let with = |machine: &str, blobs: &str| {
            let mut request = JoinRequest { takes_over: true, ..joining("w1", machine, &[]) };
            request.worker.blobs = blobs.to_owned();
            request
        };
        let mut card = WorkspaceCard::default();
        card.join(with("one", "")).unwrap();
        card.join(with("two", "values")).unwrap();
        assert!(card.join(with("three", "")).unwrap_err().contains("--blobs"));
        assert!(card.join(with("three", "others")).unwrap_err().contains("--blobs"));
        card.join(with("three", "values")).unwrap();
    }

    #[test]
    fn several_workers_share_a_folder_only_if_all_say_so() {
        let mut card = WorkspaceCard::default();
        card.join(shared("a", &[])).unwrap();
        card.join(shared("b", &[])).unwrap();
        assert!(card.join(joining("c", "c", &[])).unwrap_err().contains("none starts without --shared"));
        assert!(
            card.join(JoinRequest { folder: "/mnt".into(), ..shared("c", &[]) }).unwrap_err().contains("same path")
        );
        let mut apart = shared("c", &[]);
        apart.worker.blobs = "another".into();
        assert!(card.join(apart).unwrap_err().contains("--blobs"));
    }

    #[test]
    fn runs_go_round_and_only_to_workers_with_their_label() {
        let mut card = WorkspaceCard::default();
        assert!(card.choose(None).unwrap_err().contains("no such workspace"));
        for (name, labels) in [("a", &[][..]), ("b", &["gpu"]), ("c", &["gpu", "big"])] {
            card.join(shared(name, labels)).unwrap();
        }
        let mut chosen = |label: Option<&str>| {
            card.choose(label).unwrap();
            card.last.clone()
        };
        assert_eq!([chosen(None), chosen(None), chosen(None), chosen(None)], ["a", "b", "c", "a"]);
        assert_eq!([chosen(Some("gpu")), chosen(Some("gpu")), chosen(Some("gpu"))], ["b", "c", "b"]);
        assert_eq!(chosen(Some("big")), "c");
        let refused = card.choose(Some("tpu")).unwrap_err();
        assert_eq!(
            refused,
            "no worker of the workspace has the label `tpu`; available: a (no labels), b (gpu), c (big, gpu)"
        );
        card.workers.get_mut("c").unwrap().is_present = false;
        card.choose(Some("gpu")).unwrap();
        assert_eq!(card.last, "b", "one that was stopped gets nothing as long as there is another");
    }
}
