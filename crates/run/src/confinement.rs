//! How strictly a run's commands are confined, what they are granted, and whether the run may continue in another
//! place.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::event::Event;
use crate::goal::ApprovalMode;
use crate::grants::{CommandGrants, GrantFlags};
use crate::run_rights::{ExtraRight, RunRights};
use crate::state::Run;

/// How strictly commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// It was not recorded.
    #[default]
    Unknown,
    /// Not at all: commands can do everything their user can.
    None,
    /// By Landlock alone.
    Landlock,
    /// Nothing can be confined on this machine, so no command runs at all.
    Unavailable,
    /// By namespaces as well.
    Full,
}

impl Level {
    const ALL: [Level; 4] = [Level::None, Level::Landlock, Level::Unavailable, Level::Full];

    /// The name of the level; empty if it is unknown.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Unknown => "",
            Level::None => "none",
            Level::Landlock => "landlock",
            Level::Unavailable => "unavailable",
            Level::Full => "full",
        }
    }

    /// Whether the level was not recorded.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Level::Unknown
    }

    /// Parses the name of a level; any other text is `Unknown`.
    pub fn from_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|level| level.as_str() == word).unwrap_or(Level::Unknown)
    }

    /// Whether commands are confined less than at another level.
    pub fn is_less_than(self, other: Level) -> bool {
        self.rank() < other.rank()
    }

    /// A higher rank is safer. A run that began where nothing could be confined was promised only that no command runs
    /// unconfined.
    fn rank(self) -> u8 {
        match self {
            Level::Unknown => 0,
            Level::None => 1,
            Level::Landlock | Level::Unavailable => 2,
            Level::Full => 3,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_word(&String::deserialize(deserializer)?))
    }
}

/// The conditions under which a run would continue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResumeTerms {
    /// How far commands are confined there.
    pub level: Level,
    /// A person has agreed to this level for this run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_agreed: bool,
    /// What the tools may do, if they are shared with other runs instead of being made for this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedTools>,
    /// What the user said about commands' rights. The next process that continues the run keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<GrantFlags>,
}

impl ResumeTerms {
    /// What the tools there may do. Those that are made for the run alone have the run's own rights.
    fn rights(&self) -> RunRights<'_> {
        let shared = self.shared.as_ref();
        let approvals = shared.map_or(ApprovalMode::ReadOnly, |shared| shared.approvals);
        RunRights { approvals, level: self.level, grants: shared.map(|shared| &shared.grants) }
    }
}

/// What tools that several runs share may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedTools {
    /// Who decides about their calls.
    pub approvals: ApprovalMode,
    /// What commands are granted.
    pub grants: CommandGrants,
}

/// Why a run may not continue under some terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// Commands would be confined less than where it began.
    LessConfined {
        /// The level it began with.
        began: Level,
    },
    /// The run began where no command could run, and now commands would run unconfined.
    Unconfined,
    /// The run is read-only, and the tools may write.
    MayWrite,
    /// Commands would be granted more than the run was, such as the network or a path.
    MoreGranted(Box<CommandGrants>),
}

impl Run {
    /// Records a new level, or new flags about commands' rights.
    pub(crate) fn confine(&self, level: Level, flags: Option<&GrantFlags>) -> Vec<Event> {
        let is_news = level != self.settings.sandbox || flags.is_some();
        is_news.then(|| Event::Confined { level, flags: flags.cloned() }).into_iter().collect()
    }

    /// Whether the run may continue under these terms. Returns the level that it then has.
    pub fn check_terms(&self, terms: &ResumeTerms) -> Result<Level, Denial> {
        let began = self.settings.sandbox;
        let extra = terms.rights().beyond(&self.own_rights());
        for right in &extra {
            match right {
                ExtraRight::MayWrite => return Err(Denial::MayWrite),
                ExtraRight::MoreGranted(more) => return Err(Denial::MoreGranted(more.clone())),
                // Who decides about its calls is the run's own setting, wherever it continues.
                ExtraRight::Unasked | ExtraRight::LessConfined => {}
            }
        }
        // No command can run here, so the run keeps the level it has, and is held to it once commands can run again.
        if terms.level == Level::Unavailable {
            return Ok(began);
        }
        match extra.contains(&ExtraRight::LessConfined) && !terms.is_agreed {
            false => Ok(terms.level),
            true if began == Level::Unavailable => Err(Denial::Unconfined),
            true => Err(Denial::LessConfined { began }),
        }
    }
}
