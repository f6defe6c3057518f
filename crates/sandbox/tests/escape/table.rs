//! The attempts, by class. A script ends with 0 if it did what it tried; where that cannot be seen from inside, a path
//! tells: whatever is there afterwards, on the host, was planted.
//!
//! In every script: `$OUT` is a folder outside the workspace with `secret` and `victim`; `$VICTIM` is a process outside
//! of the same user, with its working folder there and `$OUT/secret` open as descriptor 9; `$TRY` tries a system call;
//! `$PORT`, `$UDP`, `$PORT6` are servers on the host's loopback; `$KEY` is a shared memory segment, a queue and a
//! semaphore of the host; the workspace holds a git repository, an editor's settings, a nested repository, links with
//! guarded names, and sockets of the host's services.

/// How one can tell that an attempt succeeded.
#[derive(Clone, Copy)]
pub(crate) enum Sign {
    /// The script ends with 0.
    Code,
    /// The path exists on the host: `$OUT`, `$WS` (the workspace) or absolute, with `$ID` for this very attempt.
    Exists(&'static str),
    /// The path no longer exists.
    Gone(&'static str),
    /// The file holds the word `evil`.
    Evil(&'static str),
    /// A process of the attempt still runs.
    Survivor,
    /// The victim has ended.
    VictimEnded,
}

/// Who can do it at all without a sandbox.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Anyone,
    Root,
    User,
}

/// What the level without namespaces does about it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lower {
    Contained,
    /// Documented: Landlock has no rule for it.
    Passes,
}

#[derive(Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    pub(crate) sign: Sign,
    pub(crate) by: By,
    pub(crate) lower: Lower,
}

const fn of(name: &'static str, script: &'static str, sign: Sign) -> Attempt {
    Attempt { name, script, sign, by: By::Anyone, lower: Lower::Contained }
}

/// Seen by its exit code.
const fn code(name: &'static str, script: &'static str) -> Attempt {
    of(name, script, Sign::Code)
}

const fn root(name: &'static str, script: &'static str) -> Attempt {
    Attempt { by: By::Root, ..code(name, script) }
}

const fn passing_below(attempt: Attempt) -> Attempt {
    Attempt { lower: Lower::Passes, ..attempt }
}

pub(crate) const READS: &[Attempt] = &[
    code("read a file outside", "cat $OUT/secret"),
    code("list a folder outside", "ls $OUT"),
    code("read through a link", "ln -s $OUT/secret link && cat link"),
    code("read through a linked folder", "ln -s $OUT folder && cat folder/secret"),
    code("read by going up", "cat ../$(basename $OUT)/secret"),
    code("read through /proc/self/root", "cat /proc/self/root$OUT/secret"),
    code("read through /proc/self/cwd", "cat /proc/self/cwd/../$(basename $OUT)/secret"),
    code("read through another's root", "cat /proc/$VICTIM/root$OUT/secret"),
    code("read through another's working folder", "cat /proc/$VICTIM/cwd/secret"),
    code("read another's descriptor", "cat /proc/$VICTIM/fd/9"),
    code("read another's environment", "grep -q VICTIMS_SECRET /proc/$VICTIM/environ"),
    code("read another's memory map", "grep -q . /proc/$VICTIM/maps"),
    code("read and write another's memory", "$TRY write-memory $VICTIM"),
    passing_below(code("see another's command line", "grep -q sleep /proc/$VICTIM/cmdline")),
    code("make a second name for a file outside", "ln $OUT/secret second && cat second"),
    code("read an inherited descriptor", "cat <&9"),
    code("read a secret of the environment", "test -n \"$UPDRAFT_SECRET\""),
    code(
        "read a secret of the environment of PID 1",
        "tr '\\0' '\\n' < /proc/1/environ | grep UPDRAFT_SECRET || tr '\\0' '\\n' < /proc/$PPID/environ | grep UPDRAFT_SECRET",
    ),
    code("learn names in a folder outside", "$TRY watch $OUT"),
    root("read the passwords", "cat /etc/shadow"),
    root("list the home of root", "ls /root"),
    code("list the system's logs", "ls /var/log"),
    code("list what runs on the system", "ls /run"),
    root("read the disk itself", "head -c 1 /dev/$(ls /sys/block | grep -E '^(vd|sd|nvme|xvd)' | head -n 1)"),
    root("read the kernel's messages", "timeout 2 head -c 1 /dev/kmsg"),
];

pub(crate) const WRITES: &[Attempt] = &[
    of("write a new file outside", "echo x > $OUT/new", Sign::Exists("$OUT/new")),
    of("overwrite a file outside", "echo evil > $OUT/victim", Sign::Evil("$OUT/victim")),
    of("append to a file outside", "echo evil >> $OUT/victim", Sign::Evil("$OUT/victim")),
    code("cut a file outside short", "truncate -s 0 $OUT/victim"),
    of("remove a file outside", "rm -f $OUT/victim", Sign::Gone("$OUT/victim")),
    of("rename a file outside", "mv $OUT/victim $OUT/moved", Sign::Exists("$OUT/moved")),
    of("move a file in", "mv $OUT/victim here", Sign::Gone("$OUT/victim")),
    of("move a file out", "echo x > inner; mv inner $OUT/new", Sign::Exists("$OUT/new")),
    of("make a folder outside", "mkdir $OUT/new", Sign::Exists("$OUT/new")),
    of("make a link outside", "ln -s x $OUT/new", Sign::Exists("$OUT/new")),
    of("make a pipe outside", "mkfifo $OUT/new", Sign::Exists("$OUT/new")),
    of("give a file a second name outside", "echo x > inner; ln inner $OUT/new", Sign::Exists("$OUT/new")),
    of("write through a linked folder", "ln -s $OUT way; echo x > way/new", Sign::Exists("$OUT/new")),
    of("write through another's root", "echo x > /proc/$VICTIM/root$OUT/new", Sign::Exists("$OUT/new")),
    of("write through another's working folder", "echo x > /proc/$VICTIM/cwd/new", Sign::Exists("$OUT/new")),
    of(
        "write to the shared temporary folder",
        "echo x > /tmp/updraft-escape-$ID",
        Sign::Exists("/tmp/updraft-escape-$ID"),
    ),
    of(
        "write to the other temporary folder",
        "echo x > /var/tmp/updraft-escape-$ID",
        Sign::Exists("/var/tmp/updraft-escape-$ID"),
    ),
    of("write to shared memory", "echo x > /dev/shm/updraft-escape-$ID", Sign::Exists("/dev/shm/updraft-escape-$ID")),
    passing_below(code("change the mode of a file outside", "chmod 777 $OUT/victim")),
    passing_below(code(
        "change the times of a file outside",
        "touch -c -d 2001-01-01 $OUT/victim && test $OUT/victim -ot /usr",
    )),
    root("change the owner of a file outside", "chown 1:1 $OUT/victim"),
    // Each sets what already is.
    passing_below(root("change the mode of a device", "chmod $(stat -c %a /dev/full) /dev/full")),
    passing_below(root("change the times of a device", "touch -c -r /dev/full /dev/full")),
    passing_below(root("change the owner of a device", "chown $(stat -c %u:%g /dev/full) /dev/full")),
    passing_below(root(
        "change the mode of a file of the kernel",
        "chmod $(stat -c %a /proc/partitions) /proc/partitions || chmod $(stat -c %a /proc/tty) /proc/tty",
    )),
    passing_below(root(
        "change the mode of a list of connections",
        "chmod $(stat -c %a /proc/self/net/dev) /proc/self/net/dev",
    )),
    code("make oneself less likely to be ended than another", "echo 500 > /proc/$VICTIM/oom_score_adj"),
    Attempt {
        by: By::Root,
        ..of(
            "write to the system's programs",
            "echo x > /usr/bin/updraft-escape-$ID",
            Sign::Exists("/usr/bin/updraft-escape-$ID"),
        )
    },
    Attempt {
        by: By::Root,
        ..of(
            "write to the system's settings",
            "echo x > /etc/updraft-escape-$ID",
            Sign::Exists("/etc/updraft-escape-$ID"),
        )
    },
    root("open a setting of the kernel for writing", "$TRY open-for-writing /proc/sys/kernel/core_pattern"),
    root(
        "open the kernel's switchboard for writing",
        "$TRY open-for-writing /sys/kernel/profiling || $TRY open-for-writing /sys/power/state || $TRY open-for-writing /sys/kernel/mm/ksm/run",
    ),
    root("make a device", "mknod device b 254 0"),
    code("lend one's rights by a program", "cp /bin/true x && chmod 4755 x && test -u x"),
    code("lend the rights of one's group", "cp /bin/true x && chmod 2755 x && test -g x"),
    code("lend rights by an open file", "$TRY set-id fchmod && test -u x"),
    code("lend rights by the newest call", "$TRY set-id fchmodat2 && test -u x"),
    code("lend rights by making a file", "$TRY set-id open && test -u x"),
    code("lend rights by making a file in the newest way", "$TRY set-id openat2 && test -u x"),
    code("lend rights by making a node", "$TRY set-id mknod && test -u x"),
    code("lend rights by a file without a name", "$TRY set-id tmpfile"),
    root("write to the kernel's messages", "$TRY open-for-writing /dev/kmsg"),
];

pub(crate) const LATER: &[Attempt] = &[
    of("plant a hook", "echo evil > .git/hooks/post-commit", Sign::Exists("$WS/.git/hooks/post-commit")),
    of("change a hook", "echo evil > .git/hooks/pre-commit", Sign::Evil("$WS/.git/hooks/pre-commit")),
    of("replace a hook", "echo evil > x; mv -f x .git/hooks/pre-commit", Sign::Evil("$WS/.git/hooks/pre-commit")),
    of("remove a hook", "rm -f .git/hooks/pre-commit", Sign::Gone("$WS/.git/hooks/pre-commit")),
    of(
        "rename the folder of hooks",
        "mv .git/hooks .git/x && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
        Sign::Evil("$WS/.git/hooks/pre-commit"),
    ),
    of(
        "change the repository's settings",
        "echo '[core] fsmonitor = evil' >> .git/config",
        Sign::Evil("$WS/.git/config"),
    ),
    of("change the settings with git", "git config core.hooksPath evil", Sign::Evil("$WS/.git/config")),
    of(
        "replace the repository",
        "mv .git moved; mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        Sign::Evil("$WS/.git/hooks/pre-commit"),
    ),
    of(
        "make attributes that run filters",
        "mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes",
        Sign::Exists("$WS/.git/info/attributes"),
    ),
    of(
        "point the repository elsewhere",
        "mkdir -p evil/objects evil/refs; echo ../evil > .git/commondir",
        Sign::Exists("$WS/.git/commondir"),
    ),
    of(
        "plant a hook in a nested repository",
        "echo evil > nested/.git/hooks/post-merge",
        Sign::Exists("$WS/nested/.git/hooks/post-merge"),
    ),
    of(
        "plant a hook in a new repository",
        "git init -q fresh && echo evil > fresh/.git/hooks/pre-push",
        Sign::Exists("$WS/fresh/.git/hooks/pre-push"),
    ),
    of(
        "plant settings in a bare repository",
        "git init -q --bare bare && echo '[core] fsmonitor = evil' >> bare/config",
        Sign::Evil("$WS/bare/config"),
    ),
    of(
        "plant settings in a renamed repository",
        "git init -q r && mv r/.git r/src && echo '[core] fsmonitor = evil' >> r/src/config",
        Sign::Evil("$WS/r/src/config"),
    ),
    of(
        "plant settings behind a comment that looks like the end of a head",
        "git init -q fresh && printf '[core] fsmonitor = ./evil.sh # ]\\n' >> fresh/.git/config",
        Sign::Evil("$WS/fresh/.git/config"),
    ),
    of(
        "plant settings behind a long comment",
        "git init -q fresh && { head -c 70000 /dev/zero | tr '\\0' '#'; printf '\\n[core]\\nfsmonitor = evil\\n'; } >> fresh/.git/config",
        Sign::Evil("$WS/fresh/.git/config"),
    ),
    of(
        "plant a hook for a submodule",
        "mkdir -p .git/modules/m/hooks .git/modules/m/objects .git/modules/m/refs; echo x > .git/modules/m/HEAD; echo evil > .git/modules/m/hooks/post-checkout",
        Sign::Exists("$WS/.git/modules/m/hooks/post-checkout"),
    ),
    of("lead git to another repository", "mkdir sub; echo 'gitdir: ../evil' > sub/.git", Sign::Exists("$WS/sub/.git")),
    of("link to another repository", "mkdir sub; ln -s ../evil sub/.git", Sign::Exists("$WS/sub/.git")),
    of(
        "plant a task for an editor",
        "mkdir -p deep/.vscode; echo evil > deep/.vscode/tasks.json",
        Sign::Exists("$WS/deep/.vscode/tasks.json"),
    ),
    of("change a task of the editor", "echo evil > .vscode/tasks.json", Sign::Evil("$WS/.vscode/tasks.json")),
    of("add a task to the editor's", "echo evil > .vscode/launch.json", Sign::Exists("$WS/.vscode/launch.json")),
    of(
        "replace the editor's settings",
        "rm -rf .vscode; mkdir .vscode && echo evil > .vscode/tasks.json",
        Sign::Evil("$WS/.vscode/tasks.json"),
    ),
    of(
        "link the folder of hooks elsewhere",
        "git init -q f; rm -rf f/.git/hooks; mkdir e; echo evil > e/pre-commit; ln -s ../../e f/.git/hooks",
        Sign::Exists("$WS/f/.git/hooks"),
    ),
    of(
        "link the folder of attributes elsewhere",
        "mkdir e; echo '* filter=evil' > e/attributes; ln -s ../e .git/info",
        Sign::Exists("$WS/.git/info"),
    ),
    of(
        "link the repository's settings elsewhere",
        "git init -q f; echo '[core] fsmonitor = evil' > c; rm f/.git/config; ln -s ../../c f/.git/config",
        Sign::Exists("$WS/f/.git/config"),
    ),
    of(
        "put another repository in a renamed one's place",
        "mv nested other; mkdir -p nested/.git/hooks; echo evil > nested/.git/hooks/pre-commit",
        Sign::Evil("$WS/nested/.git/hooks/pre-commit"),
    ),
    of(
        "link a folder whose name matters",
        "mkdir -p e/hooks; echo evil > e/hooks/x.json; ln -s e .github",
        Sign::Exists("$WS/.github"),
    ),
    of(
        "lead git into its own objects",
        "mkdir -p .git/objects/evil/objects .git/objects/evil/refs .git/objects/evil/hooks sub; echo x > .git/objects/evil/HEAD; echo evil > .git/objects/evil/hooks/pre-commit; echo 'gitdir: ../.git/worktrees/../objects/evil' > sub/.git",
        Sign::Exists("$WS/sub/.git"),
    ),
    of(
        "hide a repository among objects",
        "mkdir -p .git/objects/evil/objects .git/objects/evil/refs .git/objects/evil/hooks; echo x > .git/objects/evil/HEAD; echo evil > .git/objects/evil/hooks/pre-commit",
        Sign::Exists("$WS/.git/objects/evil/hooks/pre-commit"),
    ),
    of(
        "split a repository in two",
        "mkdir -p a/objects a/refs a/hooks a/b/.git; echo 'ref: refs/heads/main' > a/b/.git/HEAD; echo ../.. > a/b/.git/commondir; echo evil > a/hooks/pre-commit",
        Sign::Exists("$WS/a/hooks/pre-commit"),
    ),
    of(
        "make settings a pipe",
        "git init -q f; rm f/.git/config; mkfifo f/.git/config",
        Sign::Exists("$WS/f/.git/config"),
    ),
    of("plant a file that direnv runs", "echo evil > .envrc", Sign::Exists("$WS/.envrc")),
    of("plant servers for agents", "echo evil > .mcp.json", Sign::Exists("$WS/.mcp.json")),
    of(
        "plant settings for an agent",
        "mkdir .claude && echo evil > .claude/settings.json",
        Sign::Exists("$WS/.claude/settings.json"),
    ),
    of(
        "plant our own settings",
        "mkdir .updraft && echo evil > .updraft/policy.toml",
        Sign::Exists("$WS/.updraft/policy.toml"),
    ),
    of("plant what a shell runs", "echo evil > .bashrc", Sign::Exists("$WS/.bashrc")),
    of("plant under another spelling", "echo evil > .EnvRC", Sign::Exists("$WS/.EnvRC")),
    of("plant by a link", "echo evil > x; ln -s x .envrc", Sign::Exists("$WS/.envrc")),
    of(
        "plant in a folder that is made a repository",
        "echo > HEAD; mkdir refs; echo evil > .envrc",
        Sign::Exists("$WS/.envrc"),
    ),
    of(
        "change settings in a folder that is made a repository",
        "echo > HEAD; mkdir refs; echo evil > .vscode/tasks.json",
        Sign::Evil("$WS/.vscode/tasks.json"),
    ),
    of(
        "hide a repository among packed objects",
        "mkdir -p .git/objects/pack .git/modules sub; git init -q --bare .git/objects/pack/q; echo '[core] fsmonitor = evil' >> .git/objects/pack/q/config; ln -s ../objects/pack/q .git/modules/sub; echo 'gitdir: ../.git/modules/sub' > sub/.git",
        Sign::Evil("$WS/.git/objects/pack/q/config"),
    ),
    of(
        "open an installed package by a link",
        "mkdir -p node_modules/x; echo evil > node_modules/x/.envrc; ln -s node_modules/x app",
        Sign::Exists("$WS/app"),
    ),
    of(
        "replace a link on the way to what a shell runs",
        "rm linkdir; mkdir linkdir; echo evil > linkdir/rc",
        Sign::Evil("$WS/linkdir/rc"),
    ),
    of(
        "put a link on the way to what a shell runs",
        "mv real other; mkdir e; echo evil > e/rc; ln -s e real",
        Sign::Exists("$WS/real/rc"),
    ),
    of("make what a debugger would run", "echo evil > missing", Sign::Exists("$WS/missing")),
    of(
        "have a rebase run something",
        "mkdir .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo",
        Sign::Evil("$WS/.git/rebase-merge/git-rebase-todo"),
    ),
    of(
        "plant in a folder that cannot be changed",
        "mkdir h; echo evil > h/.envrc; chmod 555 h",
        Sign::Exists("$WS/h/.envrc"),
    ),
    of(
        "plant a folder that cannot be changed",
        "mkdir .idea; echo evil > .idea/x.xml; chmod 555 .idea",
        Sign::Exists("$WS/.idea/x.xml"),
    ),
    of(
        "plant and hide the folder's rights",
        "mkdir h; echo evil > h/.envrc; chmod 311 h",
        Sign::Exists("$WS/h/.envrc"),
    ),
];

pub(crate) const NETWORK: &[Attempt] = &[
    code("connect to the host", "$TRY tcp 127.0.0.1:$PORT"),
    code("connect to the host by its newer address", "$TRY tcp [::1]:$PORT6"),
    code("connect to the host by any address", "$TRY tcp 0.0.0.0:$PORT"),
    code("send to the host without a connection", "$TRY udp 127.0.0.1:$UDP"),
    code("connect by sending", "$TRY fast-open $PORT"),
    code("connect by several paths", "$TRY multipath $PORT"),
    code("connect to a socket file", "$TRY unix $OUT/socket"),
    code("connect to a service in the workspace", "$TRY unix service"),
    code("connect to a service deep in the workspace", "mv nested moved; $TRY unix moved/deep/service"),
    code("connect to a service by a second name", "ln service second; $TRY unix second || $TRY unix service"),
    code("connect to a service by another's root", "$TRY unix /proc/self/root$WS/service"),
    code("send to a service in the workspace", "$TRY datagram datagrams"),
    code("connect to a socket without a file", "$TRY abstract updraft-escape-$ID"),
    code("speak to the machine's own host", "$TRY family 40"),
    code("use the kernel's cryptography", "$TRY alg"),
    code("speak to the kernel's generic interface", "$TRY netlink 16"),
    code("listen to the kernel's events", "$TRY netlink 15"),
    root("send raw packets", "$TRY raw"),
    root("listen to all packets", "$TRY packet"),
];

pub(crate) const PROCESSES: &[Attempt] = &[
    of("end a process outside", "kill -KILL $VICTIM", Sign::VictimEnded),
    of("interrupt a process outside", "kill -INT $VICTIM", Sign::VictimEnded),
    of("leave a process behind", "sleep 100 >/dev/null 2>&1 & exit 0", Sign::Survivor),
    of("leave a process in a session of its own", "setsid sleep 100 >/dev/null 2>&1 & exit 0", Sign::Survivor),
    of(
        "leave a grandchild",
        "(setsid sh -c 'trap \"\" TERM HUP; (sleep 100 & sleep 100) >/dev/null 2>&1 &' &) ; exit 0",
        Sign::Survivor,
    ),
    code("trace a process outside", "$TRY ptrace $VICTIM"),
    code("read the memory of a process outside", "$TRY process-vm $VICTIM"),
    code("take a descriptor of a process outside", "$TRY pidfd-getfd $VICTIM"),
    code("compare with a process outside", "$TRY kcmp $VICTIM"),
    code("limit a process outside", "$TRY prlimit $VICTIM"),
    code("slow a process outside down", "$TRY renice $VICTIM"),
    root("enter a process's network", "$TRY setns $VICTIM"),
    Attempt { by: By::User, ..code("slow all of the user's processes down", "$TRY renice-all") },
    code("bind a process outside to some processors", "$TRY affinity $VICTIM"),
    code("give a process outside another turn", "$TRY scheduler $VICTIM"),
    code("let a process outside wait for the disk", "$TRY turn-at-the-disk $VICTIM"),
    code("blind the one who watches", "$TRY prlimit $PPID"),
    code("bind the one who watches", "$TRY affinity $PPID"),
    code(
        "let the one who watches come last",
        "$TRY scheduler $PPID || $TRY renice $PPID || $TRY turn-at-the-disk $PPID",
    ),
    code("find shared memory of the host", "$TRY shmget $KEY"),
    code("use shared memory of the host by its number", "$TRY segment $KEY"),
    code("use a queue of the host by its number", "$TRY queue $KEY"),
    code("use a semaphore of the host by its number", "$TRY semaphore $KEY"),
    code("put a key into the kernel", "$TRY add-key"),
    code("find the user's keys", "$TRY keyctl"),
    Attempt { by: By::User, ..code("become root by a program of root's", "test $(./root-id -u) = 0") },
    code("take more memory than granted", "$TRY memory 200"),
    code("take more memory than can be seen", "$TRY memfd"),
    code("take more memory than processes hold", "$TRY shared-segments"),
    code("take more memory as semaphores", "$TRY semaphores"),
    code("take more memory and let go of it", "$TRY let-go"),
    code("take more memory behind a thread that has ended", "$TRY first-thread-gone"),
    code("take more memory as tables", "$TRY tables"),
    code("take more memory as what nobody receives", "$TRY queues"),
    code("open more files than granted", "$TRY descriptors 600"),
    code("write a larger file than granted", "head -c 30000000 /dev/zero > large"),
    code(
        "fill the disk by processes that are gone",
        "i=0; while [ $i -lt 12 ]; do (head -c 5000000 /dev/zero > large$i &); i=$((i+1)); done; sleep 1",
    ),
    code("fill the disk by children that nobody waits for", "$TRY fill-disk"),
    code("fill the disk by files without a name", "$TRY nameless"),
    code("start more processes than granted", "i=0; while [ $i -lt 100 ]; do sleep 2 & i=$((i+1)); done; wait"),
];

pub(crate) const KERNEL: &[Attempt] = &[
    code("make a user namespace", "$TRY unshare-user"),
    code("make a user namespace by clone", "$TRY clone-user"),
    code("make a user namespace by clone3", "$TRY clone3-user"),
    code("set up an io_uring", "$TRY io-uring"),
    code("handle page faults", "$TRY userfaultfd"),
    code("watch performance counters", "$TRY perf"),
    root("load a program into the kernel", "$TRY bpf"),
    code("call by the entry for 32 bits", "$TRY int80"),
    root("mount", "$TRY mount"),
    root("unmount", "$TRY umount"),
    root("clone a mount", "$TRY open-tree"),
    root("open a file system", "$TRY fsopen"),
    root("change the root", "$TRY chroot"),
    root("open a file by its handle", "$TRY by-handle"),
    root("watch everyone's files", "$TRY fanotify"),
    root("rename the machine", "$TRY sethostname"),
    root("set the clock", "$TRY settime"),
    code("look into the clock's discipline", "$TRY adjtime"),
    root("reboot", "$TRY reboot"),
    root("swap", "$TRY swapon"),
    root("load a module", "$TRY init-module"),
    root("touch ports of the machine", "$TRY iopl"),
    code("ask for the kernel's messages", "$TRY syslog"),
    code("touch quotas", "$TRY quotactl"),
];
