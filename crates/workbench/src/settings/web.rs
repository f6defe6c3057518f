//! `[web]`: how web pages are fetched. Only the user can set this: a workspace could otherwise give its agents access
//! to this machine.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_run::Millis;
use updraft_tools::{PageCache, WebConfig, WebLimits};

use super::effective::LayerMerge;
use super::origin::SettingValue;
use super::written::{size, time};
use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::{time_format, untrusted};

/// The port of DNS servers.
const DNS_PORT: u16 = 53;
/// Most bytes of a certificates file; ten times a whole system's.
const LARGEST_CERTIFICATES: u64 = 4 << 20;

/// The table `[web]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenWeb {
    pub(crate) loopback: Option<Spanned<bool>>,
    pub(crate) certificates: Option<Spanned<String>>,
    pub(crate) dns: Option<Spanned<String>>,
    #[serde(deserialize_with = "time")]
    pub(crate) time: Option<Spanned<Millis>>,
    #[serde(deserialize_with = "size")]
    pub(crate) text: Option<Spanned<u64>>,
    pub(crate) robots: Option<Spanned<bool>>,
    #[serde(deserialize_with = "time")]
    pub(crate) cache: Option<Spanned<Millis>>,
}

/// How web pages are fetched.
#[derive(Clone, Debug)]
pub(crate) struct WebSettings {
    /// Whether addresses of this machine may be fetched, for tests.
    loopback: SettingValue<bool>,
    /// A file of certificates to trust in addition to the system's.
    certificates: SettingValue<Option<String>>,
    /// The DNS server to use instead of the system's.
    dns: SettingValue<Option<SocketAddr>>,
    /// How long one page may take.
    time: SettingValue<Millis>,
    /// Most bytes of a page's text that a model is shown.
    text: SettingValue<u64>,
    /// Whether sites' robots.txt files are respected.
    robots: SettingValue<bool>,
    /// How long pages are kept whose servers do not say; not at all, if zero.
    cache: SettingValue<Millis>,
}

impl Default for WebSettings {
    fn default() -> Self {
        let limits = WebLimits::default();
        Self {
            time: SettingValue::default_of(Millis(limits.time.as_millis() as u64)),
            text: SettingValue::default_of(limits.text as u64),
            loopback: SettingValue::default_of(false),
            certificates: SettingValue::default_of(None),
            dns: SettingValue::default_of(None),
            robots: SettingValue::default_of(true),
            cache: SettingValue::default_of(Millis(300_000)),
        }
    }
}

impl WebSettings {
    pub(super) fn take(&mut self, taking: &mut LayerMerge<'_>, written: &WrittenWeb) -> Result<(), Fault> {
        taking.own("web.loopback", &mut self.loopback, written.loopback.as_ref());
        let certificates =
            written.certificates.as_ref().map(|file| Spanned::new(file.span(), Some(file.get_ref().clone())));
        taking.lasting("web.time", Millis(1_000)..=Millis(600_000), &mut self.time, written.time.as_ref())?;
        taking.within("web.text", 1_000..=10_000_000, &mut self.text, written.text.as_ref())?;
        taking.own("web.robots", &mut self.robots, written.robots.as_ref());
        taking.lasting("web.cache", Millis(0)..=Millis(86_400_000), &mut self.cache, written.cache.as_ref())?;
        taking.own("web.certificates", &mut self.certificates, certificates.as_ref());
        if let Some(dns) = &written.dns {
            let text = dns.get_ref();
            let alone = || text.parse::<IpAddr>().map(|address| SocketAddr::new(address, DNS_PORT));
            let Ok(server) = text.parse::<SocketAddr>().or_else(|_| alone()) else {
                let place = taking.layer.place(dns);
                return Err(Fault::config(format!(
                    "{place}: `web.dns` is `{text}`; expected an address like `9.9.9.9`"
                )));
            };
            taking.own("web.dns", &mut self.dns, Some(&Spanned::new(dns.span(), Some(server))));
        }
        Ok(())
    }

    /// The configuration for the tool.
    pub(crate) fn web(&self) -> Result<WebConfig, Fault> {
        let certificates = match &self.certificates.value {
            None => Vec::new(),
            Some(file) => untrusted::read(Path::new(file), LARGEST_CERTIFICATES).map_err(|error| {
                Fault::config(format!("`web.certificates` names `{file}`, which cannot be read: {error}"))
            })?,
        };
        let time = Duration::from_millis(self.time.value.0);
        let limits = WebLimits { time, text: self.text.value as usize, ..WebLimits::default() };
        Ok(WebConfig {
            loopback: self.loopback.value,
            certificates,
            dns: self.dns.value,
            limits,
            ignores_robots: !self.robots.value,
            ..WebConfig::default()
        })
    }

    /// Where pages are kept, if they are.
    pub(crate) fn cache(&self, folders: &AppFolders) -> Option<PageCache> {
        let age = Duration::from_millis(self.cache.value.0);
        (!age.is_zero()).then(|| PageCache { folder: folders.cache.join("web"), age })
    }

    /// Every setting: name, value as TOML, where it came from.
    pub(super) fn list(&self) -> Vec<(String, String, String)> {
        fn shown<T: ToString>(value: Option<&T>) -> String {
            value.map_or_else(|| "none".into(), |value| format!("{:?}", value.to_string()))
        }
        vec![
            ("web.loopback".into(), self.loopback.value.to_string(), self.loopback.from.clone()),
            ("web.certificates".into(), shown(self.certificates.value.as_ref()), self.certificates.from.clone()),
            ("web.dns".into(), shown(self.dns.value.as_ref()), self.dns.from.clone()),
            ("web.time".into(), format!("{:?}", time_format::length(self.time.value)), self.time.from.clone()),
            ("web.text".into(), self.text.value.to_string(), self.text.from.clone()),
            ("web.robots".into(), self.robots.value.to_string(), self.robots.from.clone()),
            ("web.cache".into(), format!("{:?}", time_format::length(self.cache.value)), self.cache.from.clone()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{EffectiveSettings, SettingOrigin, SettingsLayer};

    fn taken(origin: SettingOrigin, text: &str) -> Result<(bool, Vec<String>), String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let (mut meant, mut ignored) = (EffectiveSettings::default(), Vec::new());
        meant.take(&SettingsLayer::file(&file, origin).unwrap(), &mut ignored).map_err(|fault| fault.message)?;
        Ok((meant.web.web().map_err(|fault| fault.message)?.loopback, ignored))
    }

    #[test]
    fn a_workspace_cannot_open_this_machine_however_trusted_it_is() {
        let text = "[web]\nloopback = true\ncertificates = \"/nonexistent\"\ndns = \"127.0.0.1:5353\"\n";
        for origin in [SettingOrigin::Workspace, SettingOrigin::Stranger] {
            let (loopback, ignored) = taken(origin, text).unwrap();
            assert_eq!(
                (loopback, ignored.len(), ignored[0].as_str()),
                (false, 3, "`web.loopback`, which only your own settings decide")
            );
        }
        assert_eq!(taken(SettingOrigin::User, "[web]\nloopback = true\ndns = \"::1\"\n"), Ok((true, Vec::new())));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let unreadable = taken(SettingOrigin::User, "[web]\ncertificates = \"/nonexistent\"\n").unwrap_err();
        assert!(
            unreadable.starts_with("`web.certificates` names `/nonexistent`, which cannot be read"),
            "{unreadable}"
        );
        let unknown = taken(SettingOrigin::User, "[web]\ndns = \"quad9\"\n").unwrap_err();
        assert!(
            unknown.ends_with("config.toml:2: `web.dns` is `quad9`; expected an address like `9.9.9.9`"),
            "{unknown}"
        );
    }
}
