//! Names of tools on the wire, and back.
//!
//! A registry or an MCP server may call a tool anything (`server.tool/x`); providers take letters,
//! digits, `_` and `-`, 64 of them. One rule serves all dialects: the narrowest. A name that fits
//! travels as it is. Any other is mended and ends with a digest of the original; should two tools
//! of one offer still meet, the digest of one is made anew until they do not. So every tool has a
//! name of its own, the same in every request with the same tools, and the way back is a table.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use piton_core::answer::Delta;
use piton_core::event::ToolSpec;

use crate::fingerprint::fingerprint;
use crate::{Decoder, Failure};

/// Longest name that every provider takes, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Hexadecimal digits of the digest in a mended name.
const DIGEST_DIGITS: usize = 8;
/// Bytes of a mended name that stay readable.
const READABLE_BYTES: usize = NAME_BYTES_MAX - DIGEST_DIGITS - 1;

/// The names of the tools of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// From mended names to real ones.
    real: BTreeMap<String, String>,
    /// Tools whose first mended name was taken, and what they are called instead.
    moved: Moved,
}

/// From real names to names on the wire, where those do not follow from the name alone.
pub(crate) type Moved = BTreeMap<String, String>;

impl Names {
    pub(crate) fn of(tools: &[ToolSpec]) -> Self {
        let mut names = Self::default();
        let odd: BTreeSet<&str> =
            tools.iter().map(|tool| &*tool.name).filter(|name| !is_plain(name)).collect();
        if odd.is_empty() {
            return names;
        }
        let mut taken: BTreeSet<String> =
            tools.iter().map(|tool| tool.name.clone()).filter(|name| is_plain(name)).collect();
        for name in odd {
            let mut tries = 0;
            let mut mended = mend(name, tries);
            while !taken.insert(mended.clone()) {
                tries += 1;
                mended = mend(name, tries);
            }
            if 0 < tries {
                names.moved.insert(name.to_owned(), mended.clone());
            }
            names.real.insert(mended, name.to_owned());
        }
        names
    }

    /// The name that a tool has on the wire; one that is not on offer, too.
    pub(crate) fn wire<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        if is_plain(name) {
            return Cow::Borrowed(name);
        }
        match self.moved.get(name) {
            Some(moved) => Cow::Borrowed(moved),
            None => Cow::Owned(mend(name, 0)),
        }
    }

    /// Each tool once, with its name on the wire. One without a name could not be called.
    pub(crate) fn offered<'a>(
        &'a self,
        tools: &'a [ToolSpec],
    ) -> impl Iterator<Item = (Cow<'a, str>, &'a ToolSpec)> {
        let mut seen = BTreeSet::new();
        let once = tools.iter().filter(move |it| !it.name.is_empty() && seen.insert(&*it.name));
        once.map(|tool| (self.wire(&tool.name), tool))
    }

    /// What the encoding of a message depends on, beside its names.
    pub(crate) fn moved(&self) -> &Moved {
        &self.moved
    }
}

/// Whether every provider takes a name as it is.
pub(crate) fn is_plain(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX && begins_well(name) && name.chars().all(fits)
}

fn fits(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

fn begins_well(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

fn mend(name: &str, tries: u32) -> String {
    let mut mended = String::from(if begins_well(name) { "" } else { "_" });
    mended.extend(name.chars().take(READABLE_BYTES).map(|it| if fits(it) { it } else { '_' }));
    // Only ASCII is left, so the cut is between letters.
    mended.truncate(READABLE_BYTES);
    let digest = match tries {
        0 => fingerprint(name),
        tries => fingerprint(&format!("{tries}:{name}")),
    };
    format!("{mended}_{:08x}", digest & 0xffff_ffff)
}

/// A decoder whose calls have the real names of their tools.
pub(crate) fn restoring(decoder: Box<dyn Decoder>, tools: &[ToolSpec]) -> Box<dyn Decoder> {
    let Names { real, .. } = Names::of(tools);
    if real.is_empty() { decoder } else { Box::new(Restoring { decoder, real }) }
}

#[derive(Debug)]
struct Restoring {
    decoder: Box<dyn Decoder>,
    real: BTreeMap<String, String>,
}

impl Restoring {
    fn restore(&self, deltas: &mut [Delta]) {
        for delta in deltas {
            if let Delta::CallOpened { name, .. } = delta
                && let Some(real) = self.real.get(name)
            {
                name.clone_from(real);
            }
        }
    }
}

impl Decoder for Restoring {
    fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let known = deltas.len();
        let read = self.decoder.push(bytes, deltas);
        self.restore(deltas.get_mut(known..).unwrap_or_default());
        read
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let known = deltas.len();
        let read = self.decoder.end(deltas);
        self.restore(deltas.get_mut(known..).unwrap_or_default());
        read
    }
}

#[cfg(test)]
mod tests {
    use piton_core::event::EffectClass;
    use proptest::prelude::*;

    use super::*;

    fn tools(names: &[String]) -> Vec<ToolSpec> {
        let tool = |name: &String| ToolSpec::new(name.clone(), "", "{}", EffectClass::Once);
        names.iter().map(tool).collect()
    }

    fn check(list: &[String]) {
        let tools = tools(list);
        let names = Names::of(&tools);
        let mut seen = BTreeSet::new();
        for (wire, tool) in names.offered(&tools) {
            assert!(is_plain(&wire), "{wire}");
            assert!(seen.insert(wire.to_string()), "{wire} is two tools");
            let real = names.real.get(&*wire).map_or(&*wire, String::as_str);
            assert_eq!(real, tool.name, "the way back");
        }
        let distinct: BTreeSet<&String> = list.iter().filter(|it| !it.is_empty()).collect();
        assert_eq!(seen.len(), distinct.len(), "each tool once");
    }

    #[test]
    fn plain_names_travel_as_they_are() {
        let names = Names::of(&tools(&["look".into(), "_a-B9".into()]));
        assert_eq!((names.wire("look"), names.wire("_a-B9")), ("look".into(), "_a-B9".into()));
        assert_eq!(names, Names::default());
    }

    #[test]
    fn a_tool_that_has_anothers_mended_name_keeps_it() {
        let (odd, first, second) =
            ("server.tool/x", mend("server.tool/x", 0), mend("server.tool/x", 1));
        let tools = tools(&[odd.into(), first.clone(), second.clone()]);
        let names = Names::of(&tools);
        assert_eq!(names.wire(&first), first);
        assert_eq!(names.wire(odd), mend(odd, 2));
        check(&[odd.into(), first, second]);
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => any::<String>(),
            3 => "[a-c./ -]{0,3}",
            1 => "[a-z]{1,8}",
            1 => "[a-zä]{60,80}",
            1 => Just(String::new()),
        ]
    }

    proptest! {
        #[test]
        fn every_offer_has_names_with_a_way_back(
            mut list in prop::collection::vec(name(), 0..12),
            stolen in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u32), 0..4),
        ) {
            for (index, tries) in stolen {
                if !list.is_empty() {
                    let name = mend(index.get::<String>(&list), tries);
                    list.push(name);
                }
            }
            check(&list);
        }
    }
}
