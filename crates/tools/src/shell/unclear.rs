//! Programs whose words are commands in ways of their own, and those that take commands while they run.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Shells with a language of their own, and what runs a command as somebody or somewhere else.
const ELSEWHERE: &str = "su sg newgrp fish csh tcsh pwsh nu xonsh elvish rc es ssh mosh autossh sshpass systemd-run bwrap \
    firejail fakeroot fakechroot pkexec run0 gosu su-exec setuidgid chpst envuidgid envdir softlimit setlock proot schroot \
    capsh runcon aa-exec sandbox-exec cgexec systemd-inhibit systemd-cat systemd-nspawn machinectl rustup mise direnv conda \
    mamba micromamba nix nix-shell devbox toolbox distrobox flatpak \
    flatpak-spawn lxc incus guix singularity apptainer ansible vagrant nsjail minijail0 isolate coreutils";

/// What runs a command in another way: timed, watched, traced, later, once more, in a terminal.
const OTHERWISE: &str = "setpriv prlimit setarch numactl uclampset choom unbuffer expect xvfb-run dbus-run-session \
    dbus-launch tmux screen zellij at batch entr valgrind linux32 linux64 i386 i686 x86_64 uname26 arch ld.so gdb lldb rr perf \
    heaptrack catchsegv rlwrap start-stop-daemon daemonize run-parts crontab socat faketime datefudge eatmydata libeatmydata \
    nocache cpulimit trickle torsocks torify proxychains proxychains4 tsocks script scriptlive parallel sem xe rush hyperfine \
    logsave openvt ssh-agent gpg-agent tini dumb-init catatonit s6-setsid xterm rxvt urxvt uxterm lxterm konsole kitty \
    alacritty foot wezterm gnome-terminal xfce4-terminal x-terminal-emulator terminator tilix xinit startx caffeinate \
    concurrently npm-run-all inotifywatch incron fswatch pipexec chronic ifne pee zrun mispipe bpftrace \
    snooze runit runsv supervise multilog retry git-shell scl vglrun primusrun optirun gamemoderun aoss \
    mpirun mpiexec srun sbatch qsub py-spy tsp nq timelimit ccache sccache distcc icecc bear scan-build intercept-build libtool";

/// What takes orders that can be commands: editors, databases, debuggers and their like.
const ORDERED: &str = "vi vim nvim view vimdiff gvim rvim rview ex ed red emacs emacsclient xemacs mg joe jed kak hx micro \
    nano pico sqlite3 sqlite duckdb psql mysql mariadb mongo mongosh redis-cli clickhouse-client dc m4 gm4 gnuplot ftp lftp \
    tnftp telnet mail mailx mutt maxima gp units w3m lynx links elinks info pinfo ranger mc nnn lf vifm \
    osqueryi tig gitk lazygit cscope latex pdflatex xelatex lualatex tex luatex latexmk pdb \
    pdb3 xmllint";

/// What a shell does itself with commands that are kept.
const KEPT: &str = "trap . source alias hash enable mapfile readarray compgen complete bind fc";

static ALL: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| [ELSEWHERE, OTHERWISE, ORDERED, KEPT].iter().flat_map(|names| names.split_whitespace()).collect());

pub(super) fn is_unclear(name: &str) -> bool {
    ALL.contains(name) || is_loader(name)
}

/// The program that loads others, which can be called by hand.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld64")
}
