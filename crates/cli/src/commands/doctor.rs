//! `updraft doctor`: what works here, what doesn't, and what to do about it.

mod restate;

use updraft_workbench::doctor::{self, CheckStatus, DoctorCheck};

use crate::args::DoctorArgs;
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::runtime;

pub(crate) fn run(folders: &AppFolders, args: &DoctorArgs) -> CliResult {
    let workspace = folders::workspace(args.place.workspace.as_deref());
    let token = args.restate_token.as_deref().map(super::restate::read_token).transpose()?;
    let checks = runtime::block_on(async {
        let mut checks = doctor::examine(folders, workspace.as_deref(), None).await;
        if let Some(ingress) = &args.restate {
            checks.extend(restate::checks(ingress, args.restate_admin.as_deref(), token.as_deref()).await);
        }
        if let Some(place) = &args.blobs {
            checks.push(restate::blobs(place).await);
        }
        Ok(checks)
    })?;
    print(&checks, args.place.json);
    let has_failed = checks.iter().any(|check| check.status == CheckStatus::Fail);
    Ok(if has_failed { CliExitCode::Failed } else { CliExitCode::Done })
}

fn print(checks: &[DoctorCheck], as_json: bool) {
    let paint = Paint::for_stdout();
    for check in checks {
        let DoctorCheck { status, what, found, advice } = check;
        if as_json {
            out::json(&serde_json::json!(check));
            continue;
        }
        let shown = format!("{:4}", status.word());
        let shown = match status {
            CheckStatus::Ok => paint.green(&shown),
            CheckStatus::Warn => paint.yellow(&shown),
            CheckStatus::Fail => paint.red(&shown),
        };
        out::line(&format!("{shown}  {what:10}  {found}"));
        if !advice.is_empty() {
            out::line(&format!("      {:10}  → {advice}", ""));
        }
    }
}
