//! How far a run's commands are confined, what they are granted, and whether the run may go on somewhere else.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::event::Event;
use crate::goal::{ApprovalMode, CommandGrants, GrantFlags};
use crate::state::Run;

/// How far commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nobody wrote it down.
    #[default]
    Unknown,
    /// Not at all: they can do whatever their user can.
    None,
    /// By Landlock alone.
    Landlock,
    /// Nothing can be confined there, so no command is run at all.
    Unavailable,
    /// By namespaces, too.
    Full,
}

impl Level {
    const ALL: [Level; 4] = [Level::None, Level::Landlock, Level::Unavailable, Level::Full];

    /// The word for it; empty where it is not known.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Unknown => "",
            Level::None => "none",
            Level::Landlock => "landlock",
            Level::Unavailable => "unavailable",
            Level::Full => "full",
        }
    }

    /// Whether nobody wrote it down.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Level::Unknown
    }

    /// Reads the word; any other is `Unknown`.
    pub fn from_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|level| level.as_str() == word).unwrap_or(Level::Unknown)
    }

    /// Whether commands are confined less than at another level.
    pub fn is_less_than(self, other: Level) -> bool {
        self.rank() < other.rank()
    }

    /// More is safer. Whoever began where nothing could be confined was promised nothing but that nothing runs unconfined.
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

/// Under what a run would go on somewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// How far commands are confined there.
    pub level: Level,
    /// A person has agreed to that level for this run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_agreed: bool,
    /// What tools there may do, where they are shared with other runs and not made for this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedTools>,
    /// What was said of commands' rights: whoever goes on with the run next keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<GrantFlags>,
}

/// What tools may do that several runs share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedTools {
    /// Who decides about their calls.
    pub approvals: ApprovalMode,
    /// What commands are granted.
    pub grants: CommandGrants,
}

/// Why a run does not go on somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// Commands would be confined less than where it began.
    LessConfined {
        /// Where it began.
        began: Level,
    },
    /// It began where no command could be run, and now they would run unconfined.
    Unconfined,
    /// It only reads, and tools there may write.
    MayWrite,
    /// Commands would be granted more than it was, such as the network or a path.
    MoreGranted(Box<CommandGrants>),
}

impl Run {
    /// Records another level, or what was said of rights.
    pub(crate) fn confine(&self, level: Level, flags: Option<&GrantFlags>) -> Vec<Event> {
        let is_news = level != self.settings.sandbox || flags.is_some();
        is_news.then(|| Event::Confined { level, flags: flags.cloned() }).into_iter().collect()
    }

    /// Whether it may go on under these terms; the level is the one that it then has.
    pub fn may_go_on(&self, terms: &Terms) -> Result<Level, Denial> {
        let began = self.settings.sandbox;
        if let Some(shared) = &terms.shared {
            if self.settings.approvals == ApprovalMode::ReadOnly && shared.approvals != ApprovalMode::ReadOnly {
                return Err(Denial::MayWrite);
            }
            let more = self.settings.grants.as_ref().map(|began| shared.grants.beyond(began));
            if let Some(more) = more.filter(|more| *more != CommandGrants::default()) {
                return Err(Denial::MoreGranted(Box::new(more)));
            }
        }
        // What cannot be run needs no level: the run keeps the one it has, and is held to that once there is one again.
        if terms.level == Level::Unavailable {
            return Ok(began);
        }
        match terms.level.is_less_than(began) && !terms.is_agreed {
            false => Ok(terms.level),
            true if began == Level::Unavailable => Err(Denial::Unconfined),
            true => Err(Denial::LessConfined { began }),
        }
    }
}
