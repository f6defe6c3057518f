//! What a child sees of this machine's files, as far as a policy says: programs that are hidden from it, and settings of the
//! user that are of use only if what they name is visible.

use std::path::{Path, PathBuf};

use crate::policy::Policy;

/// Programs and libraries. A link among them (`/bin`, on most systems) stays a link.
pub(crate) const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix"];

/// The files of /etc that programs need, none of them secret.
pub(crate) const ETC: [&str; 29] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "chromium",
    "chromium.d",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "locale.alias",
    "locale.conf",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "pki/tls/certs",
    "protocols",
    "python3",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
];

/// Variables that name files or folders with the certificates of authorities.
const CERTIFICATES: [&str; 12] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "npm_config_cafile",
    "NPM_CONFIG_CAFILE",
];

/// Settings of package managers in the home folder.
const SETTINGS: [&str; 3] = [".npmrc", ".config/pip/pip.conf", ".pip/pip.conf"];
/// The largest file of them that is read.
const LARGEST: u64 = 64 << 10;
/// The settings that are no secrets. A file with any other, also in a comment, is not shown.
const PLAIN_SETTINGS: [&str; 16] = [
    "registry",
    "cafile",
    "strict-ssl",
    "fund",
    "audit",
    "save-exact",
    "engine-strict",
    "progress",
    "index-url",
    "extra-index-url",
    "trusted-host",
    "cert",
    "timeout",
    "retries",
    "disable-pip-version-check",
    "break-system-packages",
];
/// A part of an address that is at least so long may be a key.
const LEAST_OF_A_KEY: usize = 16;

/// Folders whose `bin` alone is shown.
const SHARED: [&str; 3] = [".cargo", ".local", ".config"];

/// A program that is first on the user's `PATH`, but that children do not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenProgram {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What runs instead: the next on `PATH` that is visible.
    pub instead: Option<PathBuf>,
    /// The folder to show so that it works: that of the tool which it belongs to, never the home folder.
    pub folder: PathBuf,
}

impl Policy {
    /// Whether children see this path at its place.
    pub fn shows(&self, path: &Path) -> bool {
        let is_below = |folder: &Path| path.starts_with(folder);
        SYSTEM.iter().any(|folder| is_below(Path::new(folder)))
            || ETC.iter().any(|name| is_below(&Path::new("/etc").join(name)))
            || self.read.iter().chain(&self.write).chain([&self.workspace]).any(|folder| is_below(folder))
    }

    /// Whether children can use it: it and what it leads to are visible.
    fn shows_whole(&self, path: &Path) -> bool {
        self.shows(path) && path.canonicalize().is_ok_and(|real| self.shows(&real))
    }

    /// Passes the variables that name certificates, as far as these are visible. They are no secrets, and without them
    /// a company's proxy is not trusted.
    pub fn pass_certificates(&mut self, environment: &[(String, String)]) {
        let are_visible =
            |value: &str| !value.is_empty() && value.split(':').all(|path| self.shows_whole(Path::new(path)));
        let passed =
            environment.iter().filter(|(name, value)| CERTIFICATES.contains(&name.as_str()) && are_visible(value));
        let passed: Vec<String> = passed.map(|(name, _)| name.clone()).collect();
        self.environment.extend(passed);
    }

    /// Shows the settings of package managers in a home folder that hold no secrets and name no file that is hidden.
    pub fn show_package_settings(&mut self, home: &Path) {
        for name in SETTINGS {
            let file = home.join(name);
            let is_small = file.metadata().is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
            let text = is_small.then(|| std::fs::read_to_string(&file).ok()).flatten();
            if text.is_some_and(|text| self.is_harmless(&text)) && !self.shows(&file) {
                self.read.push(file);
            }
        }
    }

    fn is_harmless(&self, settings: &str) -> bool {
        settings.lines().map(str::trim).filter(|line| !line.is_empty() && !is_section(line)).all(|line| {
            let Some((name, value)) = line.split_once('=') else { return false };
            let (name, value) = (name.trim().to_lowercase(), value.trim().trim_matches('"'));
            let is_known =
                PLAIN_SETTINGS.contains(&name.as_str()) || (name.starts_with('@') && name.ends_with(":registry"));
            let is_hidden = value.starts_with('/') && !self.shows_whole(Path::new(value));
            is_known && !is_hidden && !value.contains(['@', '$', '?']) && !has_token(value)
        })
    }

    /// Of these programs those that are first on a `PATH` at a place which children do not see.
    pub fn hidden_programs<'a>(&self, names: impl IntoIterator<Item = &'a str>, path: &str) -> Vec<HiddenProgram> {
        let folders: Vec<PathBuf> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
        let hidden = names.into_iter().filter_map(|name| {
            let mut found = folders.iter().map(|folder| folder.join(name)).filter(|file| is_program(file));
            let first = found.next().filter(|first| !self.shows_whole(first))?;
            let instead = found.find(|next| self.shows_whole(next));
            Some(HiddenProgram { name: name.to_owned(), folder: self.folder_of(&first), path: first, instead })
        });
        hidden.collect()
    }

    /// `~/.pyenv` for `~/.pyenv/shims/python3`; of a program in `~/bin` only that.
    fn folder_of(&self, program: &Path) -> PathBuf {
        let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        let folder = real.parent().unwrap_or(&real);
        let is_of_tool = ["bin", "sbin", "shims"].iter().any(|name| folder.ends_with(name));
        // These hold keys and the state of other programs too.
        let is_shared = |tool: &Path| SHARED.iter().any(|name| tool.ends_with(name));
        let tool = folder.parent().filter(|tool| is_of_tool && !self.home.starts_with(tool) && !is_shared(tool));
        tool.unwrap_or(folder).to_owned()
    }
}

/// `[global]`, in pip's settings.
fn is_section(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

/// Whether a part of a path in an address could be a key: long, and with digits.
fn has_token(value: &str) -> bool {
    let parts = value.split("://").skip(1).flat_map(|rest| rest.split('/').skip(1));
    let mut long = parts.filter(|part| part.len() >= LEAST_OF_A_KEY);
    long.any(|part| part.contains(|letter: char| letter.is_ascii_digit()))
}

impl std::fmt::Display for HiddenProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, path, instead, .. } = self;
        write!(f, "`{name}` at {} is not visible in the sandbox", path.display())?;
        match instead {
            Some(instead) => write!(f, "; {} runs in its place", instead.display()),
            None => write!(f, ", and there is no other"),
        }
    }
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(file: &Path) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_first_program_on_the_path_is_named_if_it_is_hidden() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (hidden, shown) = (home.join(".pyenv/shims"), home.join("shown"));
        for file in [hidden.join("python3"), hidden.join("only"), shown.join("python3"), shown.join("node")] {
            program(&file);
        }
        let policy = Policy { read: vec![shown.clone()], ..Policy::strict("/srv/project") };
        let path = format!("{}:{}:relative", hidden.display(), shown.display());
        let found = policy.hidden_programs(["python3", "only", "node", "missing"], &path);
        let program = |name: &str, instead| HiddenProgram {
            name: name.into(),
            path: hidden.join(name),
            instead,
            folder: home.join(".pyenv"),
        };
        assert_eq!(found, [program("python3", Some(shown.join("python3"))), program("only", None)]);
    }

    #[test]
    fn certificates_and_settings_pass_if_all_they_name_is_visible_and_none_is_secret() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let bundle = home.join("company.pem");
        std::fs::write(&bundle, "").unwrap();
        let named = |name: &str| (name.to_owned(), bundle.display().to_string());
        let environment = [named("SSL_CERT_FILE"), named("API_KEY_FILE"), ("PIP_CERT".into(), "/usr".into())];
        let passes = |policy: &Policy| ["SSL_CERT_FILE", "PIP_CERT", "API_KEY_FILE"].map(|name| policy.passes(name));
        let mut policy = Policy::strict("/srv/project");
        policy.pass_certificates(&environment);
        assert_eq!(passes(&policy), [false, true, false]);
        let mut policy = Policy { read: vec![bundle.clone()], ..Policy::strict("/srv/project") };
        policy.pass_certificates(&environment);
        assert_eq!(passes(&policy), [true, true, false]);

        let shown = |text: &str| {
            std::fs::write(home.join(".npmrc"), text).unwrap();
            let mut policy = policy.clone();
            policy.show_package_settings(&home);
            policy.read.contains(&home.join(".npmrc"))
        };
        assert!(shown("registry=https://npm.example/\n@own:registry=https://npm.example/own/\n"));
        assert!(shown("[global]\nindex-url = https://pypi.example/simple\n"));
        assert!(shown(&format!("cafile={}\n", bundle.display())));
        for text in [
            "# //host/:_authToken=x\nregistry=https://npm.example/\n",
            "key=\"-----BEGIN PRIVATE KEY-----\"\n",
            "proxy = me:hunter2@proxy.corp:3128\n",
            "index-url = https://pkg.example/a1B2c3D4e5F6g7H8/simple\n",
            "//npm.example/:_authToken=abc\n",
            "//npm.example/:_password=abc\n",
            "registry=https://me:abc@npm.example/\n",
            "cafile=/srv/hidden.pem\n",
            "//npm.example/:_auth=${NPM}\n",
        ] {
            assert!(!shown(text), "{text}");
        }
    }
}
