//! Programs that run others if one of their arguments says so.
//!
//! The list holds what is widely known; it cannot be complete.

use super::entries::{ENTRIES, Entry};

/// Whether the arguments of the program of this name make it run another one.
pub(super) fn runs(name: &str, arguments: &[String]) -> bool {
    // `tar cIf zstd`: letters without a dash.
    let old = arguments.first().filter(|_| name.ends_with("tar")).map(|first| format!("-{first}"));
    is_told(ENTRIES, name, arguments.iter().chain(&old))
}

/// Whether one of the arguments is listed for the program of this name.
pub(super) fn is_told<'a>(
    entries: &[Entry],
    name: &str,
    mut arguments: impl Iterator<Item = &'a String>,
) -> bool {
    // Once for all arguments: there may be thousands.
    let meant = entries.iter().filter(|(program, _)| is_called(name, program));
    let telling: Vec<_> = meant.flat_map(|(_, telling)| telling.iter()).collect();
    !telling.is_empty()
        && arguments.any(|argument| telling.iter().any(|telling| tells(telling, argument)))
}

/// Whether a name is that of a program: also `gcc-12`, `gmake` and `x86_64-linux-gnu-gcc`.
pub(super) fn is_called(name: &str, program: &str) -> bool {
    let unversioned = name.trim_end_matches(|end: char| end.is_ascii_digit() || ".-".contains(end));
    [name, unversioned].into_iter().any(|name| {
        program == name
            || name.strip_prefix(['g', 'b']) == Some(program)
            || name.rsplit('-').next() == Some(program)
            || name == "bsdtar" && program == "tar"
    })
}

fn tells(telling: &str, argument: &str) -> bool {
    if let Some(begin) = telling.strip_prefix('^') {
        return argument.starts_with(begin);
    }
    if let Some(part) = telling.strip_prefix('*').and_then(|rest| rest.strip_suffix('*')) {
        return argument.contains(part);
    }
    if let Some(option) = telling.strip_prefix("--") {
        let Some(given) = argument.strip_prefix("--") else { return false };
        let parted = |text: &str| match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (text.to_owned(), None),
        };
        let ((option, wanted), (given, value)) = (parted(option), parted(given));
        let is_cut = !given.is_empty() && option.starts_with(&given);
        return telling == argument || is_cut && (wanted.is_none() || wanted == value);
    }
    match telling.strip_prefix('-') {
        Some(letter) if letter.len() == 1 && letter != "-" => {
            argument.starts_with('-') && !argument.starts_with("--") && argument.contains(letter)
        }
        Some(_) => {
            argument == telling
                || argument.strip_prefix(telling).is_some_and(|rest| rest.starts_with('='))
        }
        None if telling.ends_with(['=', ':']) => argument.starts_with(telling),
        None => argument == telling,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_however_they_are_written() {
        let check = |line: &str, expected| {
            let words: Vec<String> = line.split(' ').map(Into::into).collect();
            let (name, arguments) = words.split_first().unwrap();
            assert_eq!(runs(name, arguments), expected, "{line}");
        };
        for line in [
            "git -c x=y status",
            "git clone ext::x",
            "git submodule foreach x",
            "tar --to-command=x -xf a",
            "tar --to-c x",
            "tar cIf x a",
            "tar -xIx",
            "zip -rTT x",
            "npm exec x",
            "make SHELL=x",
            "make -f -",
            "make --makef=-",
            "gcc-12 @x",
            "arm-none-eabi-gcc -specs=x",
            "go build -ldflags=-extld=x",
            "go test -exec x",
            "rsync -ave x",
        ] {
            check(line, true);
        }
        for line in [
            "git status",
            "git commit --amend",
            "tar xf a.tar",
            "tar -czf a.tar b",
            "npm test",
            "npm run exec-all",
            "make -j2 all",
            "make --file=x",
            "gcc -DNDEBUG -Wall x@y.c",
            "cargo test --all",
            "uv sync",
            "ls -c",
        ] {
            check(line, false);
        }
    }
}
