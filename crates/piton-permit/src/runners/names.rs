//! Names of programs that run others, or change what later commands mean. Without versions and without what
//! distributions put behind them.

/// Shells, and what shells have built in.
pub(super) const SHELLS: &str = "\
    . alias ash autoload bash bind builtin busybox command compgen complete csh dash declare elvish \
    emulate enable eval exec export fc fish getopts hash jobs ksh let local mapfile mksh newgrp \
    nocorrect noglob nu oil osh pwsh rbash read readarray readonly sash scsh set sg sh shopt source \
    tcsh toybox trap typeset unalias unset xonsh yash ysh zmodload zsh";

/// Run a command in some other way, place, time or name.
pub(super) const WRAPPERS: &str = "\
    aa-exec abduco alacritty anacron annotate-output ansible ansible-console ansible-playbook arch \
    arch-chroot at autoexpect autossh aws-vault batch bear bpftrace bwrap byobu caffeinate capsh \
    catchsegv ccache cgexec chamber choom chpst chronic chroot chrt concurrently coresched cpulimit \
    crontab cross-env cross-env-shell daemon daemonize dbclient dbus-launch dbus-run-session distcc \
    distrobox distrobox-enter dlv doas doppler dotenv dotenvx dsh dtach dumb-init eatmydata entr \
    env env-cmd env_parallel envchain envdir execlineb expect fakechroot fakeroot fakeroot-ng \
    faketime fd fdfind find firejail flock gdb gdbserver gksu gksudo gnome-terminal gosu gpg-agent \
    heaptrack honcho hugectl hyperfine i386 icecc ifne incrontab inotifyd ionice kcov kdesu \
    keep-one-running kexec kitty konsole launchctl lckdo ld.so ldd less libtool linux32 linux64 \
    lldb ltrace machinectl minijail0 mispipe more mosh most nice nix-shell nocache nodemon nohup \
    npm-run-all nq nsenter nsjail numactl onchange open parallel parallel-ssh pdsh pee perf pkexec \
    please plink prlimit proot proxychains proxychains4 pseudo pssh pueue reflex remsh retry rexec \
    rlogin rlwrap rr rsh run-one run-p run-parts run-s run-this-one run0 runas runcon runsv \
    runsvdir runuser s6-setuidgid samply sandbox-exec scan-build sccache schedtool schroot screen \
    script sem setarch setlock setpriv setsid setuidgid seunshare slogin socat softlimit ssh \
    ssh-agent sshpass sshuttle start-server-and-test start-stop-daemon startx stdbuf strace su \
    su-exec sudo sudoedit sux systemd-cat systemd-inhibit systemd-nspawn systemd-run taskset time \
    timelimit timeout tini tmux torify torsocks trickle tsocks tsp uclampset uftrace uname26 \
    unbuffer unshare valgrind vidir vipe watch watchexec wine x86_64 xargs xdg-open xdotool xe \
    xinit xterm xvfb-run zellij zrun";

/// Interpreters and editors that take a program as an argument or from their input.
pub(super) const INTERPRETERS: &str = "\
    awk babel-node bpython bun chibi-scheme chicken clisp clj clojure crystal csi d8 dc deno duckdb \
    ecl ed elixir elvis emacs emacsclient erl escript esno esr evim ex fennel fsharpi fsi ftp gawk \
    ghci gjs gnuplot groovy gsi guile gview gvim hx hy iex ipython ipython3 irb janet java javaw \
    jed jjs joe jruby jshell julia kak kotlin lein lftp lua luajit m4 mail mailx mariadb mawk mc \
    mcedit micro micropython mit-scheme mongo mongosh mono mutt mysql nano nawk newlisp nex \
    nimscript node nodejs nvi nview nvim ocaml octave original-awk osascript perl php php-cgi pico \
    poly psql pypy python qjs r racket raku rgvim rscript ruby runghc runhaskell rview rvim sbcl \
    scala scheme sml sqlite sqlite3 sqlplus swipl tclsh telnet truffleruby ts-node tsx vi view vim \
    vimdiff vimx wish zx";

/// Fetch a program and run it, or run one in a container.
pub(super) const FETCHERS: &str = "\
    apptainer buildah bunx corepack crictl ctr docker enroot flatpak lxc-attach lxc-execute nerdctl \
    npx pipx pkgx podman singularity toolbox uvx";
