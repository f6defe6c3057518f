//! Manners towards other people's servers: what their robots.txt asks for, one request at a time, and a pause between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use tokio::sync::OwnedMutexGuard;
use updraft_run::{Failure, FailureKind};

use super::robots::{self, RobotsRules};
use super::target::Target;
use super::{FetchError, Fetcher};
use crate::truncate;

/// The pause between two requests to a host.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest pause that a robots.txt can ask for. The pages that an agent wants at once are few, and their time is
/// limited: longer pauses would make them fail.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long the rules of a host are kept.
const KEPT: Duration = Duration::from_hours(1);
/// Most hosts that are remembered.
const MOST_HOSTS: usize = 1_000;

/// What is known of the hosts that were asked.
#[derive(Debug, Default)]
pub(super) struct Hosts(Mutex<HashMap<String, Arc<tokio::sync::Mutex<HostRecord>>>>);

/// What is known of one host. Whoever holds it is the only one that talks to the host.
#[derive(Debug, Default)]
pub(super) struct HostRecord {
    rules: Option<(Instant, RobotsRules)>,
    /// When the last request ended.
    last: Option<Instant>,
}

/// The right to talk to a host, until it is dropped.
pub(super) struct HostTurn(OwnedMutexGuard<HostRecord>);

impl Drop for HostTurn {
    fn drop(&mut self) {
        self.0.last = Some(Instant::now());
    }
}

impl Hosts {
    async fn turn(&self, name: &str) -> HostTurn {
        let host = {
            let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if hosts.len() >= MOST_HOSTS {
                hosts.retain(|_, host| Arc::strong_count(host) > 1);
            }
            Arc::clone(hosts.entry(name.to_owned()).or_default())
        };
        HostTurn(host.lock_owned().await)
    }
}

impl HostRecord {
    /// How long to wait before the next request.
    fn pause(&self, now: Instant) -> Duration {
        let asked = self.rules.as_ref().and_then(|(_, rules)| rules.delay).unwrap_or_default();
        let pause = asked.clamp(PAUSE, LONGEST_PAUSE);
        self.last.map_or(Duration::ZERO, |last| (last + pause).saturating_duration_since(now))
    }
}

impl Fetcher {
    /// Waits until the host may be asked for this page. Returns nothing for this machine, where no manners are needed.
    pub(super) async fn turn(&self, target: &Target) -> Result<Option<HostTurn>, FetchError> {
        if target.is_loopback {
            return Ok(None);
        }
        let origin = target.url.origin().ascii_serialization();
        let mut turn = self.hosts.turn(&origin).await;
        if !self.web.ignores_robots {
            if turn.0.rules.as_ref().is_none_or(|(read, _)| read.elapsed() > KEPT) {
                turn.0.rules = Some((Instant::now(), self.rules_of(target).await?));
            }
            if let Some((_, rules)) = &turn.0.rules {
                check(rules, target)?;
            }
        }
        tokio::time::sleep(turn.0.pause(Instant::now())).await;
        Ok(Some(turn))
    }

    /// The rules in a host's robots.txt. None are made by a host that has no such file; one that is in trouble is not
    /// asked for pages either.
    async fn rules_of(&self, target: &Target) -> Result<RobotsRules, FetchError> {
        let mut file = target.clone();
        file.url.set_path("/robots.txt");
        file.url.set_query(None);
        for _ in 0..=self.web.limits.redirects {
            let response = self.ask(&file).await?;
            let status = response.status();
            match super::fetch::location(&response) {
                Some(location) => match file.follow(&location, &self.web) {
                    Ok(next) if file.is_same_site(&next) => file = next,
                    // Another site was not granted, and cannot speak for this one.
                    Ok(_) | Err(_) => return Ok(RobotsRules::default()),
                },
                None if status.is_success() => {
                    let (bytes, _) = super::fetch::body(response, robots::LARGEST).await?;
                    return Ok(RobotsRules::parse(&String::from_utf8_lossy(&bytes)));
                }
                None if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                    let host = target.host();
                    let why = format!("`{host}` answers {status} when asked for its robots.txt; it may work later");
                    return Err(FetchError::Passing(Failure::new(FailureKind::Tool, why)));
                }
                None => return Ok(RobotsRules::default()),
            }
        }
        Ok(RobotsRules::default())
    }
}

fn check(rules: &RobotsRules, target: &Target) -> Result<(), Failure> {
    let url = &target.url;
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let Some(rule) = rules.refusal(&path) else { return Ok(()) };
    let (shown, rule) = (truncate::line(url.as_str(), 200), truncate::line(rule, 100));
    let why = format!(
        "`{shown}` is not fetched: the robots.txt of `{}` asks programs not to (`{rule}`); the user can set `robots = false` \
         under [web]",
        target.host()
    );
    Err(Failure::new(FailureKind::Tool, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_what_the_site_asks_for_within_bounds() {
        let now = Instant::now();
        let record = |delay: u64| HostRecord {
            rules: Some((now, RobotsRules::parse(&format!("user-agent: *\ncrawl-delay: {delay}")))),
            last: Some(now),
        };
        assert_eq!(HostRecord::default().pause(now), Duration::ZERO);
        assert_eq!(record(0).pause(now), PAUSE);
        assert_eq!(record(1).pause(now + Duration::from_millis(400)), Duration::from_millis(600));
        assert_eq!(record(3_600).pause(now), LONGEST_PAUSE);
        assert_eq!(record(3).pause(now + Duration::from_secs(4)), Duration::ZERO);
    }
}
