//! One attempt: what is tried, and how it is seen that it got through.

/// An attempt. In its texts `{O}` is a directory of its own outside the workspace, `{W}` one inside; [`super::arena`]
/// knows the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// What is done before, without a wall.
    pub(super) prepare: &'static str,
    pub(super) command: &'static str,
    pub(super) sign: Sign,
    pub(super) control: Control,
    /// A program that is needed beside the first word of the command.
    pub(super) needs: &'static str,
}

/// How it is seen that an attempt got through. Whatever the sign is, the directory outside must be as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Its directory outside is not as it was.
    Outside,
    /// It exits with 0.
    Says,
    /// A file that all attempts share, named from the arena's root, has its name in it.
    Named(&'static str),
}

/// Who must get through where there is no wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Everybody,
    /// Root; for others the attempt is made all the same, and must be held.
    Root,
    /// Others than root; root has no need of it.
    Others,
    /// Root, where the machine has what it takes: a disk to read, a family of sockets.
    RootIfItCan,
    /// Everybody, where the machine has it.
    IfItCan,
}

/// An attempt whose directory outside tells.
pub(super) const fn outside(
    name: &'static str,
    prepare: &'static str,
    command: &'static str,
) -> Row {
    Row { name, prepare, command, sign: Sign::Outside, control: Control::Everybody, needs: "" }
}

/// An attempt that tells by its exit code.
pub(super) const fn says(name: &'static str, prepare: &'static str, command: &'static str) -> Row {
    Row { sign: Sign::Says, ..outside(name, prepare, command) }
}

impl Row {
    pub(super) const fn of(self, control: Control) -> Self {
        Self { control, ..self }
    }

    pub(super) const fn needs(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }

    pub(super) const fn named(self, file: &'static str) -> Self {
        Self { sign: Sign::Named(file), ..self }
    }

    /// The first word, which the rule for it names.
    pub(super) fn program(&self) -> &'static str {
        self.command.split(' ').next().unwrap()
    }
}
