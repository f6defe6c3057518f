//! What the browser may connect to: the rule of `web_fetch`, for every connection of every page.

use std::net::IpAddr;
use std::sync::Arc;

use updraft_browser::{Decision, NetworkGuard, Resolver};
use updraft_sandbox::address::public_only;

use crate::web::{WebConfig, is_this_machine, resolve};

/// Public addresses; and this machine, by its own names, if the settings allow that.
pub(super) fn guard(web: &WebConfig) -> Arc<dyn NetworkGuard> {
    let loopback = web.loopback;
    Arc::new(move |host: &str, address: IpAddr, _: u16| {
        if loopback && address.is_loopback() && is_this_machine(host) {
            return Decision::Allow;
        }
        match public_only(address) {
            Ok(()) => Decision::Allow,
            Err(why) => Decision::Refuse(why.to_string()),
        }
    })
}

/// Names are resolved as for `web_fetch`.
pub(super) fn resolver(web: &WebConfig) -> Resolver {
    let server = web.dns;
    Arc::new(move |name| Box::pin(async move { resolve(server, &name).await }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_name_for_this_machine_stays_a_strangers() {
        let open = guard(&WebConfig { loopback: true, ..WebConfig::default() });
        let closed = guard(&WebConfig::default());
        let loopback = IpAddr::from([127, 0, 0, 1]);
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert_eq!(open.allow(host, loopback, 8080), Decision::Allow, "{host}");
            assert_ne!(closed.allow(host, loopback, 8080), Decision::Allow, "{host}");
        }
        for (host, address) in [
            ("evil.example", [127, 0, 0, 1]),
            ("localhost", [10, 0, 0, 1]),
            ("169.254.169.254", [169, 254, 169, 254]),
            ("printer.example", [192, 168, 1, 9]),
        ] {
            assert_ne!(open.allow(host, address.into(), 80), Decision::Allow, "{host}");
        }
        assert_eq!(closed.allow("example.com", [93, 184, 215, 14].into(), 443), Decision::Allow);
    }
}
