//! Settings: what was written in files, the environment and flags, and what is meant by it all.
//!
//! Defaults < the user's file < the workspace's (which can only tighten, unless it is trusted) < environment < flags.

mod dotenv;
mod layer;
mod meant;
mod models;
mod remembered;
mod rules;
mod sandbox;
mod serving;
mod spending;
mod tools;
mod trust;
mod web;
mod written;

use std::path::{Path, PathBuf};

use updraft_run::Rule;

pub(crate) use dotenv::read as read_dotenv;
pub(crate) use layer::Layer;
pub(crate) use meant::Origin;
pub use meant::{Meant, Sourced};
pub use models::limit_in_words;
pub use remembered::{Remembered, keep as keep_always};
pub use sandbox::Confined;
pub(crate) use sandbox::{WrittenNetwork, WrittenSandbox};
pub use serving::Serving;
pub use tools::Tools;
pub use trust::{Counted, Standing, Trusted, too_much};
pub(crate) use written::{Written, said};

use crate::Flags;
use crate::fault::Fault;
use crate::places::Places;

/// The settings for a workspace, and whether its files count in full.
pub struct Settings {
    /// What is meant.
    pub meant: Meant,
    /// How the workspace stands.
    pub standing: Standing,
    /// What was left out of account, one line each.
    pub ignored: Vec<String>,
}

impl Settings {
    /// Reads everything that is written for this workspace.
    pub fn load(places: &Places, workspace: &Path, flags: &Flags) -> Result<Self, Fault> {
        let standing = Trusted::load(places).standing(workspace);
        let own = workspace.join(".updraft").join("config.toml");
        let mut layers = vec![Layer::file(&places.settings(), Origin::User)?];
        // A workspace that is the configuration folder itself is not read twice.
        if own != places.settings() {
            let origin = if standing.is_trusted() { Origin::Workspace } else { Origin::Stranger };
            layers.push(Layer::file(&own, origin)?);
        }
        layers.push(Layer::environment()?);
        layers.push(Layer::flags(flags.written()?));
        let mut meant = Meant::default();
        let mut ignored = Vec::new();
        for layer in &layers {
            meant.take(layer, &mut ignored)?;
        }
        if !standing.is_trusted() {
            meant.leave_relative_programs(&mut ignored);
        }
        meant.rules.allow.extend(Remembered::load(places).rules(workspace));
        meant.rules.deny.extend(not_our_own(places, workspace));
        Ok(Self { meant, standing, ignored })
    }

    /// What must be said about the workspace, one line.
    pub fn remark(&self) -> Option<String> {
        let mut left = self.ignored.clone();
        left.extend(self.standing.ignored());
        if left.is_empty() {
            return None;
        }
        let why = if self.standing == Standing::Changed { "changed since it was trusted" } else { "not trusted" };
        Some(format!("workspace {why}; ignored: {} (`updraft trust` lets them count)", left.join(", ")))
    }
}

/// No tool writes what Updraft itself goes by, should the workspace be around it.
fn not_our_own(places: &Places, workspace: &Path) -> Vec<Rule> {
    let rule = |path: PathBuf| {
        let within = path.strip_prefix(workspace).ok().filter(|within| !within.as_os_str().is_empty())?;
        let from = "Updraft itself goes by it".to_owned();
        Some(Rule { tool: "write_file".into(), pattern: Some(within.display().to_string()), from })
    };
    places.goes_by().into_iter().filter_map(rule).collect()
}
