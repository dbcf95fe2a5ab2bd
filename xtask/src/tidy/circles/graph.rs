//! Which files of a crate use which, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{Named, named};
use crate::tidy::{Source, rust_text};

/// How many names may be handed on in a row before we stop following.
const HANDED_ON_MAX: usize = 8;

/// A module, by its path from the crate's root; the root is empty.
type Module = Vec<String>;

/// The files of a crate, by module.
pub(super) struct Graph<'a> {
    paths: BTreeMap<Module, &'a str>,
    named: BTreeMap<Module, Named>,
}

impl<'a> Graph<'a> {
    /// Reads the files below `home`, the directory of a crate's sources.
    pub(super) fn new(home: &str, files: impl Iterator<Item = &'a Source>) -> Self {
        let mut graph = Self { paths: BTreeMap::new(), named: BTreeMap::new() };
        for file in files {
            let Some(module) = file.path.strip_prefix(home).and_then(module) else { continue };
            // A binary beside a library is a crate of its own.
            if file.name() == "main.rs" && graph.paths.contains_key(&module) {
                continue;
            }
            let code: Vec<String> =
                rust_text::lines(&file.text).into_iter().map(|line| line.code).collect();
            graph.named.insert(module.clone(), named(&code.join("\n")));
            graph.paths.insert(module, &file.path);
        }
        graph
    }

    /// Groups of files that use each other in a circle.
    pub(super) fn circles(&self) -> Vec<BTreeSet<&'a str>> {
        let edges: BTreeMap<&Module, BTreeSet<Module>> =
            self.named.keys().map(|module| (module, self.used_by(module))).collect();
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            edges.keys().map(|module| (*module, reached(&edges, module))).collect();
        let mut circles = BTreeSet::new();
        for (module, from_here) in &reached {
            let back = |other: &&Module| reached.get(other).is_some_and(|it| it.contains(*module));
            let circle: BTreeSet<&str> = from_here
                .iter()
                .filter(back)
                .filter_map(|it| self.paths.get(it).copied())
                .collect();
            if 1 < circle.len() {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// The modules that a module uses.
    fn used_by(&self, module: &Module) -> BTreeSet<Module> {
        let Some(named) = self.named.get(module) else { return BTreeSet::new() };
        let imported = named.imports.iter().filter(|import| !import.is_handed_on);
        let paths = imported.map(|import| &import.path).chain(&named.paths);
        let used = paths.filter_map(|path| self.owner(module, path, HANDED_ON_MAX));
        used.filter(|other| other != module).collect()
    }

    /// The module that has what a path names, as seen from `module`; none if it is of another crate.
    fn owner(&self, module: &Module, path: &[String], left: usize) -> Option<Module> {
        let mut rest = path.iter();
        let mut here = match rest.next()?.as_str() {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => parent(module)?,
            child => self.child(module, child)?,
        };
        for word in rest {
            if word == "super" {
                here = parent(&here)?;
            } else if let Some(child) = self.child(&here, word) {
                here = child;
            } else {
                let named = self.named.get(&here)?;
                return match named.imports.iter().find(|import| import.name == *word) {
                    Some(import) => self.owner(&here, &import.path, left.checked_sub(1)?),
                    None => Some(here),
                };
            }
        }
        Some(here)
    }

    fn child(&self, module: &Module, name: &str) -> Option<Module> {
        let mut child = module.clone();
        child.push(name.to_owned());
        self.named.contains_key(&child).then_some(child)
    }
}

/// The module of a file, from its path below the sources; none for other binaries of the crate.
fn module(path: &str) -> Option<Module> {
    let mut module: Module = path.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    match module.last().map(String::as_str) {
        Some("mod") => drop(module.pop()),
        Some("lib" | "main") if module.len() == 1 => module.clear(),
        _ => {}
    }
    (module.first().map(String::as_str) != Some("bin")).then_some(module)
}

fn parent(module: &Module) -> Option<Module> {
    let (_, parent) = module.split_last()?;
    Some(parent.to_vec())
}

/// All modules that a way leads to, over one edge or more.
fn reached(edges: &BTreeMap<&Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&Module> = edges.get(from).into_iter().flatten().collect();
    while let Some(module) = waiting.pop() {
        if reached.insert(module.clone()) {
            waiting.extend(edges.get(module).into_iter().flatten());
        }
    }
    reached
}
