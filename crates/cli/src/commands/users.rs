//! `updraft serve user`: who may use the page with a token of their own.

use serde_json::json;
use updraft_serve::{UserFile, UserRole};

use crate::args::{PageUserCommand, RoleWord};
use crate::fault::{CliExitCode, CliResult};
use crate::folders::AppFolders;
use crate::out;

/// The users of the servers that this user of the machine starts.
pub(super) fn file(folders: &AppFolders) -> UserFile {
    UserFile::at(folders.state.join("serve.users"))
}

pub(super) fn run(folders: &AppFolders, command: &PageUserCommand) -> CliResult {
    let users = file(folders);
    match command {
        PageUserCommand::Add { name, role } => {
            let token = users.add(name, role.role())?;
            out::line(&token);
            out::note(&format!("{name} signs in at /enter of the page with this token; it is not shown again"));
        }
        PageUserCommand::Remove { name } => {
            users.remove(name)?;
            out::note(&format!("removed user {name}"));
        }
        PageUserCommand::List { json } => {
            for user in users.list()? {
                let (name, role) = (&user.name, user.role.word());
                if *json {
                    out::line(&json!({ "name": name, "role": role, "since": user.since }).to_string());
                } else {
                    out::line(&format!("{name:<20} {role}"));
                }
            }
        }
    }
    Ok(CliExitCode::Done)
}

impl RoleWord {
    fn role(self) -> UserRole {
        match self {
            RoleWord::See => UserRole::See,
            RoleWord::Steer => UserRole::Steer,
            RoleWord::Administer => UserRole::Administer,
        }
    }
}
