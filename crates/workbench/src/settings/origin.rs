//! A setting's value, and where it came from.

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    Default,
    User,
    /// A trusted workspace.
    Workspace,
    /// An untrusted workspace, which can only tighten.
    Stranger,
    Environment,
    Flag,
}

impl SettingOrigin {
    pub(super) fn word(self) -> &'static str {
        match self {
            SettingOrigin::Default => "default",
            SettingOrigin::User => "user",
            SettingOrigin::Workspace | SettingOrigin::Stranger => "workspace",
            SettingOrigin::Environment => "environment",
            SettingOrigin::Flag => "flag",
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug)]
pub struct SettingValue<T> {
    /// The value.
    pub value: T,
    /// Where it came from, for people.
    pub from: String,
}

impl<T> SettingValue<T> {
    pub(super) fn default_of(value: T) -> Self {
        Self { value, from: SettingOrigin::Default.word().into() }
    }

    /// Whether it has its default value.
    pub(crate) fn is_default(&self) -> bool {
        self.from == SettingOrigin::Default.word()
    }
}
