//! What is asked about or denied by now and was not when a run began: it holds from where the run goes on.

use updraft_mcp::Servers;
use updraft_run::{Input, Rules};
use updraft_tools::Dispatcher;

use crate::settings::Settings;
use crate::wire;

/// What a run is told that goes on under these settings. Nothing in it loosens what the run began with.
pub(super) fn by(settings: &Settings, dispatcher: &Dispatcher, servers: &Servers) -> Input {
    let mut meant = settings.meant.rules();
    wire::name_in_full(dispatcher, servers, &mut meant);
    let rules = Rules { allow: Vec::new(), ..meant.rules };
    Input::Tighten { rules, deny: meant.deny, distrusts: !settings.standing.is_trusted() }
}
