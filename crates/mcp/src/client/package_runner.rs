//! Servers that are started with a package runner (`npx`, `uvx`): where fetched packages are kept between starts, which
//! environment variables lead to the registry, and why fetching failed.

use std::io;
use std::path::Path;

use updraft_sandbox::{Network, Policy};

use super::host::McpHost;
use crate::config::{ServerConfig, program_of};
use crate::error::cut;

/// Where each program keeps the packages it has fetched: its variable, and the subfolder of the server's folder.
const KEPT: [(&str, &str); 9] = [
    ("npm_config_cache", "npm"),
    ("PNPM_HOME", "pnpm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("DENO_DIR", "deno"),
    ("UV_CACHE_DIR", "uv"),
    ("PIPX_HOME", "pipx"),
    ("PIP_CACHE_DIR", "pip"),
    ("XDG_CACHE_HOME", "cache"),
];
/// Where uv installs a Python. The user's own Pythons are used if there are any.
const PYTHONS: (&str, &str) = ("UV_PYTHON_INSTALL_DIR", "python");

/// Variables that say where packages come from. They are passed on unless they contain a password.
const REGISTRIES: [&str; 22] = [
    "npm_config_registry",
    "NPM_CONFIG_REGISTRY",
    "YARN_NPM_REGISTRY_SERVER",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_INDEX_STRATEGY",
    "UV_PYTHON_INSTALL_MIRROR",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
    "UV_HTTP_TIMEOUT",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];
/// Variables that name certificate files; the process may read those files.
const CERTIFICATES: [&str; 6] =
    ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "npm_config_cafile", "NPM_CONFIG_CAFILE"];
/// Without a network, packages that were fetched before are used, and fetching others fails at once instead of after
/// minutes.
const OFFLINE: [(&str, &str); 2] = [("npm_config_offline", "true"), ("UV_OFFLINE", "1")];

/// Gives such a server a permanent folder, and sets the variables of its package runner. What its entry sets takes
/// precedence.
pub(super) fn prepare(
    host: &McpHost,
    config: &ServerConfig,
    policy: &mut Policy,
    variables: &mut Vec<(String, String)>,
) -> io::Result<()> {
    if config.fetching().is_none() {
        return Ok(());
    }
    let mut given = Vec::new();
    if let Some(folder) = host.fetched_for(config) {
        std::fs::create_dir_all(&folder)?;
        let has_pythons = policy.read.iter().any(|path| path.ends_with(".local/share/uv/python"));
        let kept = KEPT.into_iter().chain((!has_pythons).then_some(PYTHONS));
        given.extend(kept.map(|(name, within)| (name, folder.join(within).display().to_string())));
        policy.write.push(folder.clone());
        policy.unguarded.push(folder);
    }
    if policy.network == Network::None {
        given.extend(OFFLINE.map(|(name, value)| (name, value.to_owned())));
    }
    let is_free = |name: &str| !policy.environment.iter().any(|passing| passing == name);
    let given: Vec<_> = given.into_iter().filter(|(name, _)| is_free(name)).collect();
    for (name, value) in given {
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), value));
        policy.environment.push(name.to_owned());
    }
    if policy.network != Network::None {
        lead_to_registry(policy, variables);
    }
    Ok(())
}

/// Passes the variables that say where packages come from to the process.
fn lead_to_registry(policy: &mut Policy, variables: &[(String, String)]) {
    let value_of = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    for name in REGISTRIES {
        if value_of(name).is_some_and(|value| !value.contains('@')) {
            policy.environment.push(name.to_owned());
        }
    }
    for name in CERTIFICATES {
        let Some(path) = value_of(name).map(Path::new).filter(|path| path.is_absolute() && path.exists()) else {
            continue;
        };
        policy.environment.push(name.to_owned());
        policy.read.push(path.to_owned());
    }
}

/// Why fetching failed, derived from the program's error output; `None` if that does not say.
pub(super) fn why(program: &str, complaint: &str, network: &Network) -> Option<String> {
    let causes: [(&[&str], &str); 6] = [
        (
            &["ENOTCACHED", "the network was disabled"],
            "it has to be fetched first, and its entry grants no network: \"sandbox\": {\"network\": \"host\"}, or add it \
             with `--network host`",
        ),
        (
            &["E404", "404 Not Found", "ETARGET", "not found in the package registry", "No matching distribution"],
            "the registry has no such package: look at how its name and version are written",
        ),
        (
            &["E401", "E403", "401 Unauthorized", "403 Forbidden"],
            "the registry requires a key: `--read ~/.npmrc` (or another file with the key) allows reading it",
        ),
        (
            &["SELF_SIGNED_CERT", "UNABLE_TO_", "DEPTH_ZERO_", "invalid peer certificate", "certificate verify failed"],
            "the registry's certificate is not known here: set NODE_EXTRA_CA_CERTS or SSL_CERT_FILE to the file with your \
             company's",
        ),
        (
            &[
                "ENOTFOUND",
                "EAI_AGAIN",
                "ECONNREFUSED",
                "ECONNRESET",
                "ETIMEDOUT",
                "ENETUNREACH",
                "Failed to fetch",
                "Failed to download",
                "error sending request",
                "name resolution",
            ],
            "the registry can't be reached: are you online? A mirror that is named in your ~/.npmrc or uv.toml is found with \
             `--read` of that file",
        ),
        (
            &["could not determine executable", "does not provide any executables"],
            "the package has no program to start: look at its documentation for how the server is started",
        ),
    ];
    let found = causes.into_iter().find(|(signs, _)| signs.iter().any(|sign| complaint.contains(sign)));
    if let Some((signs, cause)) = found {
        let line = complaint.lines().filter(|line| signs.iter().any(|sign| line.contains(sign)));
        let line = line.max_by_key(|line| line.len()).unwrap_or_default();
        let cause = match network {
            Network::Allow(_) if cause.starts_with("the registry can't") => {
                "the registry can't be reached: is it among the hosts that its entry grants?"
            }
            Network::None | Network::Host | Network::Allow(_) => cause,
        };
        return Some(format!("`{program}` failed: {cause} ({})", cut(line, 200)));
    }
    (matches!(program, "docker" | "podman") && complaint.to_lowercase().contains("cannot connect")).then(|| {
        format!(
            "`{program}` failed: its service is outside of the sandbox and can't be reached from in it; start the container \
             yourself and add its address with `--url`, or use the server's `npx` or `uvx` form"
        )
    })
}

/// A hint for a program that is not installed, or not visible in the sandbox.
pub(super) fn absent(host: &McpHost, program: &str) -> String {
    let path = host.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let mut folders = std::env::split_paths(path.unwrap_or_default());
    if let Some(folder) = folders.find(|folder| folder.join(program).is_file()) {
        let folder = folder.display();
        return format!("; it lies in `{folder}`, which the sandbox does not show: `--read {folder}` allows it");
    }
    let advice = match program_of(program) {
        "npx" | "npm" => "; it comes with Node.js: install that, e.g. `apt install npm`",
        "uvx" | "uv" => "; it comes with uv: install that, e.g. `pip install uv`",
        "pipx" => "; install it, e.g. `apt install pipx`",
        "bunx" | "bun" | "pnpm" | "pnpx" | "yarn" | "deno" => "; install it, or use the server's `npx` form",
        "docker" | "podman" => "; containers can't be started from the sandbox: use the server's `npx` or `uvx` form",
        _ => "; install it, or name it with its folder",
    };
    advice.to_owned()
}
