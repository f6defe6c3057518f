//! `updraft acp`: an agent for editors, over standard input and output.

use std::io::IsTerminal as _;

use tokio_util::sync::CancellationToken;
use updraft_acp::AcpSetup;
use updraft_workbench::Flags;

use super::service;
use crate::args::AcpArgs;
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::settings::WorkspaceSettings;
use crate::signals::Signals;
use crate::{log, out, runtime};

/// Serves until the editor leaves. Nothing but the protocol may go to standard output.
pub(crate) fn run(folders: &AppFolders, args: &AcpArgs) -> CliResult {
    let flags = Flags {
        model: args.model.clone(),
        approvals: args.permission.approvals(),
        budget: args.spending.budget(),
        confine: args.confine.flags(),
        ..Flags::default()
    };
    // Each session has settings of its own; those of this folder say how much is logged.
    let here = folders::workspace(None).and_then(|here| WorkspaceSettings::load(folders, &here, &flags));
    if let Ok(settings) = here {
        log::begin(folders, &settings.effective.log.value);
    }
    if std::io::stdin().is_terminal() {
        out::note("this speaks ACP on standard input and output; start it from an editor (docs/editors.md)");
    }
    runtime::block_on(async {
        let stop = CancellationToken::new();
        let mut signals = Signals::listen(stop.clone())?;
        let setup = AcpSetup {
            folders: folders.clone(),
            flags,
            tell: service::tell_schedules(),
            version: env!("CARGO_PKG_VERSION"),
        };
        let mut serving = Box::pin(updraft_acp::serve(setup, tokio::io::stdin(), tokio::io::stdout(), stop.clone()));
        tokio::select! {
            () = &mut serving => {}
            _ = signals.first() => serving.await,
        }
        Ok(if stop.is_cancelled() { signals.code() } else { CliExitCode::Done })
    })
}
