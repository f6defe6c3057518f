//! What the agents of a new run may use, and which of it their models are told of. Both are recorded when the run begins
//! and stay so, after a crash and in a replay too.

use std::collections::BTreeMap;

use updraft_engine::{Agent, Agents, ToolOffer};
use updraft_models::uses_patches;
use updraft_run::{ASK_USER, Goal, RunMode};
use updraft_sandbox::Network;
use updraft_tools::{FINDERS, OfferSituation};

use crate::service::{ENTRY_POINT, SCHEDULE};
use crate::workbench::{RunEquipment, Workbench};
use crate::{knowledge, search_access};

/// The model that needs no descriptions of tools, because it is not a language model: it is told of all.
const BUILTIN: &str = "builtin";

/// Lets an agent that works alone ask the person, as the agents of a plan can have it done by another. One that another
/// program waits for, or that begins by itself, asks nobody.
pub(crate) fn let_ask(agents: &mut Agents, goal: &Goal) {
    let RunMode::Agent(name) = &goal.mode else { return };
    if ![ENTRY_POINT, SCHEDULE].contains(&goal.door.as_str()) {
        agents.add_tool(name, ASK_USER);
    }
}

impl Workbench {
    /// For each agent what its model is told of its tools. `model` gives the model of an agent.
    pub(crate) fn offers(
        &self,
        goal: &Goal,
        agents: &Agents,
        model: &dyn Fn(&Agent) -> String,
        equipment: &RunEquipment,
    ) -> BTreeMap<String, ToolOffer> {
        let registry = equipment.dispatcher.registry();
        let settings = &self.settings;
        let text = &goal.text;
        let search = search_access::config(settings, &self.folder).is_some();
        let situation = OfferSituation {
            indexed: knowledge::index(&self.folders, &self.folder, settings).has_documents(),
            network: search
                || settings.effective.sandbox.network.value != Network::None
                || ["http://", "https://"].iter().any(|beginning| text.contains(beginning)),
            search,
            patches: false,
        };
        let of = |agent: &Agent| {
            let model = model(agent);
            let offer = if model == BUILTIN {
                ToolOffer { untold: FINDERS.map(str::to_owned).to_vec(), ..ToolOffer::default() }
            } else {
                let untold =
                    registry.untold(&agent.tools, OfferSituation { patches: uses_patches(&model), ..situation });
                ToolOffer { untold, findable: registry.findable(&agent.tools) }
            };
            (agent.name.clone(), offer)
        };
        agents.iter().map(of).collect()
    }
}
