//! Rights in layers: the run's, its agent's, and those of code that the agent runs. The strictest layer decides.

use serde::{Deserialize, Serialize};

use crate::effect::PreparedCall;
use crate::goal::{AgentCard, ApprovalMode, RunSettings};
use crate::origins::Origins;
use crate::permission::{ApprovalRequest, Permission, denied};
use crate::reply::{Failure, FailureKind};
use crate::rules::{Rule, RuleMatch, Rules, is_allowed, to_remember};
use crate::sentences;

/// How the rights of one layer are narrower than those of the layer above.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NarrowedRights {
    /// Who decides about calls that reach beyond the workspace and the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Rules that ask and deny; rules that allow are ignored.
    #[serde(skip_serializing_if = "Rules::is_empty")]
    pub rules: Rules,
}

impl NarrowedRights {
    /// Whether nothing is narrowed.
    pub fn is_empty(&self) -> bool {
        self.mode.is_none() && self.rules.is_empty()
    }
}

/// One layer of rights.
#[derive(Clone, Copy, Debug)]
pub struct RightsLayer<'a> {
    /// Whose layer it is, as part of a sentence.
    pub whose: &'a str,
    /// Who decides about calls that reach beyond the workspace and the sandbox; if absent, the layers above decide.
    pub mode: Option<ApprovalMode>,
    /// Nothing may be changed.
    pub read_only: bool,
    /// Its rules.
    pub rules: &'a Rules,
}

/// How strict a layer is about a call. The order of the variants matters: the greatest of all layers counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strictness {
    Free,
    Ask(String),
    Deny(String),
}

/// What a caller may do: the layers from the run down to it. Layers can be added but never removed, and rules that
/// allow count only in the first layer. So no layer can do more than the ones above it.
#[derive(Clone, Debug)]
pub struct Rights<'a> {
    layers: Vec<RightsLayer<'a>>,
    /// What a person allowed with "always".
    remembered: &'a [Rule],
    /// Why nobody can be asked, if that is so.
    cannot_ask: Option<&'static str>,
    /// No approval is needed: the call is the user's own, or a person has allowed it for the rest of the run.
    pre_approved: bool,
}

impl<'a> Rights<'a> {
    /// The rights of a run.
    pub fn of(settings: &'a RunSettings, remembered: &'a [Rule]) -> Self {
        let mode = Some(settings.approvals);
        let read_only = settings.approvals == ApprovalMode::ReadOnly;
        let layers = vec![RightsLayer { whose: "this run", mode, read_only, rules: &settings.rules }];
        let silent = match settings.approvals {
            ApprovalMode::Ask | ApprovalMode::Allow => None,
            ApprovalMode::Refuse | ApprovalMode::ReadOnly => {
                Some("nobody can approve it here; with `--yes` the run would stop and wait for `updraft approve`")
            }
        };
        Self { layers, remembered, cannot_ask: silent, pre_approved: false }
    }

    /// The rights with one more layer below.
    #[must_use]
    pub fn child(mut self, layer: RightsLayer<'a>) -> Self {
        self.layers.push(layer);
        self
    }

    /// The rights of an agent.
    #[must_use]
    pub fn agent(self, card: &'a AgentCard) -> Self {
        let read_only = card.read_only || card.narrowed.mode == Some(ApprovalMode::ReadOnly);
        self.child(RightsLayer { whose: &card.name, mode: card.narrowed.mode, read_only, rules: &card.narrowed.rules })
    }

    /// The rights before a person has approved the plan: nothing may be changed.
    #[must_use]
    pub(crate) fn until_the_plan_is_approved(mut self) -> Self {
        if let Some(run) = self.layers.first_mut() {
            (run.mode, run.read_only) = (Some(ApprovalMode::ReadOnly), true);
        }
        self.cannot_ask = Some("the plan of this run is not approved yet");
        self
    }

    /// The rights of code that an agent runs. Code cannot wait for a person.
    #[must_use]
    pub fn code(mut self) -> Self {
        self.cannot_ask.get_or_insert("code cannot wait for approval; make this call yourself, outside of the code");
        self
    }

    /// The rights for a call that needs no approval: it is the user's own, or a person has allowed it for the rest of
    /// the run. Rules that deny or ask still apply.
    #[must_use]
    pub fn with_pre_approval(mut self, lifted: bool) -> Self {
        self.pre_approved = lifted;
        self
    }

    /// Decides whether a call may be made with text from these origins in its context. A call that is passed on is
    /// allowed only by rules for the tool that is really called, but denied or asked about by rules for either tool.
    pub fn weigh(&self, tool: &str, prepared: &PreparedCall, origins: &Origins) -> Permission {
        let allowing = || self.layers.iter().take(1).flat_map(|layer| &layer.rules.allow).chain(self.remembered);
        let meant = prepared.effective_name(tool);
        let lifted = self.pre_approved || is_allowed(allowing(), meant, prepared);
        let words = self.layers.iter().enumerate();
        let strictest = words.map(|(depth, layer)| layer.strictness(depth, tool, prepared, lifted)).max();
        let insists = || self.insists(tool, prepared, lifted);
        let misusable = origins.could_misuse(prepared) && !self.pre_approved;
        match strictest.unwrap_or(Strictness::Free) {
            Strictness::Deny(why) => denied(why),
            Strictness::Free | Strictness::Ask(_) if misusable => {
                let why = sentences::possible_injection(meant, prepared, origins);
                self.ask(ApprovalRequest {
                    why,
                    origins: origins.clone(),
                    always: Vec::new(),
                    insists: insists(),
                    like: None,
                })
            }
            Strictness::Free => Permission::Allowed,
            Strictness::Ask(why) => {
                let by_rule = self.asks_by_rule(tool, prepared);
                let always = if by_rule { Vec::new() } else { to_remember(allowing(), meant, prepared) };
                self.ask(ApprovalRequest { why, origins: Origins::default(), always, insists: insists(), like: None })
            }
        }
    }

    /// Asks a person, if one can be asked.
    fn ask(&self, asking: ApprovalRequest) -> Permission {
        match self.cannot_ask {
            Some(why) => {
                let is_refusing = self.layers.first().is_some_and(|run| run.mode == Some(ApprovalMode::Refuse));
                let why = if is_refusing && !asking.always.is_empty() {
                    sentences::nobody_to_approve(&asking.why, &asking.always)
                } else {
                    format!("{}. Refused: {why}", asking.why)
                };
                Permission::Denied(Failure::new(FailureKind::Unapproved, why))
            }
            None => Permission::Asked(asking),
        }
    }

    /// Whether a person would be asked even if the run itself allows everything.
    fn insists(&self, tool: &str, prepared: &PreparedCall, lifted: bool) -> bool {
        let below = |(depth, layer): (usize, &RightsLayer<'_>)| {
            depth > 0 && layer.strictness(depth, tool, prepared, lifted) != Strictness::Free
        };
        self.asks_by_rule(tool, prepared) || self.layers.iter().enumerate().any(below)
    }

    /// Whether a rule requires asking. Such a question is asked each time.
    fn asks_by_rule(&self, tool: &str, prepared: &PreparedCall) -> bool {
        self.layers.iter().any(|layer| layer.by_rules(tool, prepared) != Strictness::Free)
    }
}

impl RightsLayer<'_> {
    /// The decision of this layer alone.
    fn strictness(&self, depth: usize, called: &str, prepared: &PreparedCall, lifted: bool) -> Strictness {
        let tool = prepared.effective_name(called);
        if self.read_only && prepared.changes() {
            return Strictness::Deny(sentences::only_reads(tool, prepared, (depth > 0).then_some(self.whose)));
        }
        let outside = match self.mode {
            Some(ApprovalMode::Ask) if prepared.outside && !lifted => {
                Strictness::Ask(sentences::leaves_the_sandbox(tool, prepared))
            }
            // Nobody can be asked. The refusal is given at the point where the question would be asked.
            Some(ApprovalMode::Refuse) if depth == 0 && prepared.outside && !lifted => {
                Strictness::Ask(sentences::leaves_the_sandbox(tool, prepared))
            }
            Some(ApprovalMode::Refuse | ApprovalMode::ReadOnly) if prepared.outside && !lifted => {
                let asked = sentences::leaves_the_sandbox(tool, prepared);
                Strictness::Deny(sentences::nobody_to_approve(&asked, &to_remember(&self.rules.allow, tool, prepared)))
            }
            Some(ApprovalMode::Allow | ApprovalMode::Ask | ApprovalMode::Refuse | ApprovalMode::ReadOnly) | None => {
                Strictness::Free
            }
        };
        self.by_rules(called, prepared).max(outside)
    }

    /// What its rules ask about and deny, for any name of the call.
    fn by_rules(&self, called: &str, prepared: &PreparedCall) -> Strictness {
        prepared.names(called).map(|name| self.by_rules_on(name, prepared)).max().unwrap_or(Strictness::Free)
    }

    fn by_rules_on(&self, tool: &str, prepared: &PreparedCall) -> Strictness {
        let mut word = Strictness::Free;
        for rule in &self.rules.deny {
            word = word.max(match rule.matches(tool, prepared) {
                RuleMatch::Yes => Strictness::Deny(sentences::rule_denies(tool, rule)),
                RuleMatch::Maybe => Strictness::Ask(sentences::rule_is_unclear(tool, prepared, rule)),
                RuleMatch::No => Strictness::Free,
            });
        }
        for rule in &self.rules.ask {
            word = word.max(match rule.matches(tool, prepared) {
                RuleMatch::Yes => Strictness::Ask(sentences::rule_asks(tool, prepared, rule)),
                RuleMatch::Maybe => Strictness::Ask(sentences::rule_is_unclear(tool, prepared, rule)),
                RuleMatch::No => Strictness::Free,
            });
        }
        word
    }
}
