//! What is planted in a long conversation, where, and what is right when it is asked for.

use std::fmt;

/// What kind of thing has to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A rule that the user stated, in the first letters of a message.
    Rule,
    /// The same, far behind in a long message.
    DeepRule,
    /// A file of instructions.
    Instruction,
    /// A decision of the model, with its reason.
    Decision,
    /// A number in the middle of an output.
    Number,
    /// A command and its exit code.
    Command,
    /// The text of an error.
    Error,
    /// A file that was written: by which call last, and whether it is still so.
    File,
    /// Something that the model said and later corrected.
    Corrected,
    /// The task list.
    Plan,
    /// A command that still runs.
    Running,
}

impl Class {
    pub(crate) const ALL: [Self; 11] = [
        Self::Rule,
        Self::DeepRule,
        Self::Instruction,
        Self::Decision,
        Self::Number,
        Self::Command,
        Self::Error,
        Self::File,
        Self::Corrected,
        Self::Plan,
        Self::Running,
    ];

    /// How tables call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule of the user",
            Self::DeepRule => "rule, deep in a message",
            Self::Instruction => "instruction file",
            Self::Decision => "decision",
            Self::Number => "number",
            Self::Command => "exit code",
            Self::Error => "error text",
            Self::File => "file written",
            Self::Corrected => "corrected fact",
            Self::Plan => "task list",
            Self::Running => "running command",
        }
    }

    /// How keys begin.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Self::Rule => "u",
            Self::DeepRule => "w",
            Self::Instruction => "i",
            Self::Decision => "d",
            Self::Number => "n",
            Self::Command => "c",
            Self::Error => "e",
            Self::File => "f",
            Self::Corrected => "x",
            Self::Plan => "p",
            Self::Running => "r",
        }
    }

    /// The word in front of a key where it is stated.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Rule | Self::DeepRule => "RULE",
            Self::Instruction => "INSTRUCTION",
            Self::Decision => "DECISION",
            Self::Number => "NUMBER",
            Self::Command => "COMMAND",
            Self::Error => "ERROR",
            Self::File => "FILE",
            Self::Corrected => "FACT",
            Self::Plan => "TASK",
            Self::Running => "JOB",
        }
    }

    pub(crate) fn of_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.letter() == letter)
    }

    /// Whether it must be in the context, even if no model sums up: the journal knows it.
    pub(crate) fn is_of_journal(self) -> bool {
        matches!(self, Self::Rule | Self::Instruction | Self::File | Self::Plan | Self::Running)
    }
}

/// A fact: its class and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact {
    pub(crate) class: Class,
    pub(crate) number: usize,
}

/// Its key.
impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{:04}", self.class.letter(), self.number)
    }
}

impl Fact {
    pub(crate) fn new(class: Class, number: usize) -> Self {
        Self { class, number }
    }

    pub(crate) fn of_key(key: &str) -> Option<Self> {
        let (letter, number) = key.split_once('_')?;
        Some(Self { class: Class::of_letter(letter)?, number: number.parse().ok()? })
    }

    /// What is true, as long as nothing corrects it.
    pub(crate) fn value(self) -> String {
        format!("v{:06}", hash(&self.to_string()) % 1_000_000)
    }

    /// What was said first of something that is corrected, and what strangers say.
    pub(crate) fn wrong(self) -> String {
        format!("v{:06}", hash(&format!("not {self}")) % 1_000_000)
    }

    /// The sentence that states it.
    pub(crate) fn stated(self) -> String {
        format!("{} {self} = {}", self.class.word(), self.value())
    }

    pub(crate) fn stated_wrongly(self) -> String {
        format!("{} {self} = {}", self.class.word(), self.wrong())
    }

    pub(crate) fn exit_code(self) -> i32 {
        i32::try_from(hash(&self.to_string()) % 9 + 1).unwrap()
    }

    pub(crate) fn path(self) -> String {
        format!("{self}.txt")
    }

    /// Whether somebody else changes the file behind its last write.
    pub(crate) fn is_changed(self) -> bool {
        self.class == Class::File && (self.number / PERIOD) % 2 == 1
    }
}

/// The same on every machine.
pub(crate) fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Steps from one fact of a class to the next.
pub(crate) const PERIOD: usize = 40;
/// Steps from a fact to its correction, and from the first write of a file to the last.
pub(crate) const CORRECTED_BEHIND: usize = 5;
/// Steps from the last write of a file to the change by somebody else.
const CHANGED_BEHIND: usize = 2;
/// The step that begins the command that goes on.
const RUNNING_AT: usize = 4;

/// What happens in a step, beside the look that every step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Something is stated or done for the first time, and for most of it the last.
    Plant(Fact),
    /// It is corrected, or written again.
    Correct(Fact),
    /// Somebody else changes a file.
    Meddle(Fact),
    /// A page of strangers is read, which says otherwise.
    Page,
    Nothing,
}

/// What happens in a step, from 1.
pub(crate) fn act(step: usize) -> Act {
    let at = |class| Fact::new(class, step);
    let before = |class, steps: usize| Fact::new(class, step - steps);
    let last_write = CORRECTED_BEHIND + CHANGED_BEHIND;
    match step % PERIOD {
        2 => Act::Plant(at(Class::Decision)),
        _ if step == RUNNING_AT => Act::Plant(at(Class::Running)),
        6 => Act::Plant(at(Class::Number)),
        10 => Act::Plant(at(Class::Command)),
        14 => Act::Plant(at(Class::Error)),
        18 => Act::Plant(at(Class::Corrected)),
        23 => Act::Correct(before(Class::Corrected, CORRECTED_BEHIND)),
        20 => Act::Plant(at(Class::File)),
        25 => Act::Correct(before(Class::File, CORRECTED_BEHIND)),
        27 => {
            let file = before(Class::File, last_write);
            if file.is_changed() { Act::Meddle(file) } else { Act::Nothing }
        }
        30 => Act::Plant(at(Class::Plan)),
        34 => Act::Page,
        _ => Act::Nothing,
    }
}

/// The facts that stand firm behind these steps: none of them is corrected or changed any more.
pub(crate) fn firm(steps: usize) -> Vec<Fact> {
    let mut found = Vec::new();
    for step in 1..=steps {
        match act(step) {
            Act::Plant(fact) if fact.class == Class::Plan => {
                // A list replaces the one before.
                found.retain(|known: &Fact| known.class != Class::Plan);
                found.push(fact);
            }
            Act::Plant(fact) => match fact.class {
                Class::File if fact.number + CORRECTED_BEHIND + CHANGED_BEHIND <= steps => {
                    found.push(fact);
                }
                Class::Corrected if fact.number + CORRECTED_BEHIND <= steps => found.push(fact),
                Class::File | Class::Corrected => {}
                _ => found.push(fact),
            },
            Act::Correct(_) | Act::Meddle(_) | Act::Page | Act::Nothing => {}
        }
    }
    found
}
