//! Finding Chromium, and the arguments it is started with.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::config::BrowserConfig;
use crate::error::Error;
use crate::profile::Profile;
use crate::starter::LaunchCommand;

/// Names of the program in folders of programs.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"];
/// Where systems keep it.
const PLACES: [&str; 9] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/usr/local/bin/chromium",
    "/opt/google/chrome/chrome",
    "/snap/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// Moves standard input and output to the descriptors that Chromium speaks on, and becomes it. A starter that confines the
/// browser to a network of its own says where the proxy is there.
const MOVE_PIPES: &str = "exec 3<&0 4>&1 </dev/null >/dev/null; \
    exec \"$0\" \"$@\" --proxy-server=\"${UPDRAFT_BROWSER_PROXY:-http://127.0.0.1:PORT}\"";
/// The most bytes of a script that are looked at.
const LONGEST_SCRIPT: u64 = 64 * 1024;
/// The longest folder whose sockets still have paths that the system takes (108 bytes), with what Chromium appends.
const LONGEST_TEMPORARY: usize = 60;

/// Traffic and features of the browser's own, which nobody asked for. That it has its own isolation of sites off keeps all
/// frames of a page in one process, and so in one tree.
const FEATURES_OFF: &str = "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,\
    InterestFeedContentSuggestions,AutofillServerCommunication,CertificateTransparencyComponentUpdater,HttpsUpgrades,\
    IsolateOrigins,site-per-process,PrefetchProxy,Prerender2,BackForwardCache,WebOTP,PaintHolding,LensOverlay,AcceptCHFrame,\
    GlobalMediaControls,DestroyProfileOnBrowserClose,LocalNetworkAccessChecks,NetworkTimeServiceQuerying,OriginKeyedProcessesByDefault,IsolateSandboxedIframes,OriginIsolationHeader";

const QUIET: [&str; 38] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-search-engine-choice-screen",
    "--disable-quic",
    "--disable-site-isolation-trials",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-ipc-flooding-protection",
    "--disable-print-preview",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--deny-permission-prompts",
    // Services that no switch turns off get an address at port 1, which Chromium itself refuses before any connection. The host
    // must not be one of a page: Chromium isolates that of the first from everything else.
    "--gaia-url=http://nobody.invalid:1/",
    "--google-base-url=http://nobody.invalid:1/",
    "--component-updater=url-source=http://nobody.invalid:1/",
    "--apps-gallery-update-url=http://nobody.invalid:1/",
    "--variations-server-url=http://nobody.invalid:1/",
];

/// The first Chromium in `folders` (usually those of `PATH`), or where systems keep it.
pub fn find_chromium(folders: &[PathBuf]) -> Result<PathBuf, Error> {
    let in_folders = folders.iter().flat_map(|folder| NAMES.iter().map(|name| folder.join(name)));
    let places: Vec<PathBuf> = in_folders.chain(PLACES.iter().map(PathBuf::from)).collect();
    first_of(&places)
}

/// The first of these programs that exists and can be confined.
fn first_of(places: &[PathBuf]) -> Result<PathBuf, Error> {
    let (snaps, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        places.iter().filter(|place| place.is_file()).partition(|place| is_snap(place));
    if let Some(found) = others.first() {
        return Ok((*found).clone());
    }
    if let Some(snap) = snaps.first() {
        return Err(Error::OnlySnap { program: (*snap).clone() });
    }
    // Names instead of every folder of PATH times every name.
    let looked = NAMES.iter().map(PathBuf::from).chain(PLACES.iter().map(PathBuf::from)).collect();
    Err(Error::NoBrowser { looked })
}

/// Whether a program is Ubuntu's Chromium in a snap, or a script that starts it. It brings a confinement of its own, which
/// cannot be set up within another.
fn is_snap(program: &Path) -> bool {
    let is_run_by_snap = || program.canonicalize().is_ok_and(|target| target.ends_with("snap"));
    program.starts_with("/snap") || is_run_by_snap() || is_script_of_snap(program)
}

fn is_script_of_snap(program: &Path) -> bool {
    let mut start = Vec::new();
    let read = std::fs::File::open(program).and_then(|file| file.take(LONGEST_SCRIPT).read_to_end(&mut start));
    read.is_ok() && start.starts_with(b"#!") && String::from_utf8_lossy(&start).contains("/snap/bin")
}

/// The whole command.
pub(crate) fn command(config: &BrowserConfig, browser: &Path, folder: &Profile, proxy_port: u16) -> LaunchCommand {
    let (width, height) = config.window;
    let profile = folder.path();
    let mut arguments =
        vec!["-c".to_owned(), MOVE_PIPES.replace("PORT", &proxy_port.to_string()), browser.display().to_string()];
    arguments.extend(QUIET.map(str::to_owned));
    arguments.extend([
        FEATURES_OFF.to_owned(),
        format!("--user-data-dir={}", profile.display()),
        format!("--window-size={width},{height}"),
        // Everything goes through the proxy, loopback and link-local addresses too.
        "--proxy-bypass-list=<-loopback>".to_owned(),
        // It resolves no name itself, not even to prefetch, so that nothing reaches a name server past the guard.
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1".to_owned(),
        // WebRTC would send datagrams past the proxy.
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp".to_owned(),
        "--webrtc-ip-handling-policy=disable_non_proxied_udp".to_owned(),
    ]);
    if !config.has_own_sandbox {
        arguments.push("--no-sandbox".to_owned());
    }
    arguments.push("--no-startup-window".to_owned());
    LaunchCommand {
        program: PathBuf::from("/bin/sh"),
        arguments,
        environment: environment(&profile),
        browser: browser.to_owned(),
        profile,
        uploads: folder.uploads(),
        proxy_port,
    }
}

/// Nothing of ours, since our variables hold keys. Whatever it writes to its home or as temporary files goes with the profile.
fn environment(profile: &Path) -> Vec<(String, String)> {
    let profile = profile.display().to_string();
    let mut environment = vec![
        ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/snap/bin".to_owned()),
        ("LANG".to_owned(), "en_US.UTF-8".to_owned()),
    ];
    if profile.len() <= LONGEST_TEMPORARY {
        environment.push(("TMPDIR".to_owned(), profile.clone()));
    }
    environment.push(("HOME".to_owned(), profile));
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_chromium_it_says_what_to_install() {
        let error = Error::NoBrowser { looked: vec![PathBuf::from("chromium")] };
        assert!(error.to_string().contains("apt install chromium"), "{error}");
    }

    #[test]
    fn the_first_folder_wins() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("chromium-browser");
        std::fs::write(&program, "").unwrap();
        let found = find_chromium(&[PathBuf::from("/nowhere"), folder.path().to_owned()]).unwrap();
        assert_eq!(found, program);
    }

    #[test]
    fn a_snap_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let [snap, linked, script, chrome] =
            ["snap", "chromium", "chromium-browser", "google-chrome"].map(|name| folder.path().join(name));
        std::fs::write(&snap, "").unwrap();
        std::os::unix::fs::symlink(&snap, &linked).unwrap();
        std::fs::write(&script, "#!/bin/sh\nexec /snap/bin/chromium \"$@\"\n").unwrap();
        let error = first_of(&[script.clone(), linked.clone()]).unwrap_err().to_string();
        assert!(error.contains("is a snap, which cannot be confined") && error.contains("chromium-browser"), "{error}");
        std::fs::write(&chrome, "#!/bin/sh\nexec /opt/google/chrome/chrome\n").unwrap();
        assert_eq!(first_of(&[linked, script, chrome.clone()]).unwrap(), chrome);
        assert!(is_snap(Path::new("/snap/bin/chromium")) && !is_snap(Path::new("/usr/bin/nothing")));
    }
}
