//! Lists of tools at rest: a resumed turn has the tools it was started with, also while their server
//! is away.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::listing::Listed;
use crate::settings::ServerSettings;
use crate::text::{digest, head};

/// Version of the files.
const FORMAT: u32 = 1;
/// Letters of a digest that tell servers apart.
const DIGEST_LETTERS: usize = 32;

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    format: u32,
    tools: Vec<Listed>,
}

/// The tools that the server had when it was last asked. What cannot be read is not there.
pub(crate) fn read(directory: &Path, settings: &ServerSettings) -> Option<Vec<Listed>> {
    let bytes = fs::read(file(directory, settings)?).ok()?;
    let kept: Kept = serde_json::from_slice(&bytes).ok()?;
    (kept.format == FORMAT).then_some(kept.tools)
}

/// Keeps them. Whether that works is no matter of the turn.
pub(crate) fn write(directory: &Path, settings: &ServerSettings, tools: &[Listed]) {
    let Some(path) = file(directory, settings) else { return };
    let kept = Kept { format: FORMAT, tools: tools.to_vec() };
    let write = || -> io::Result<()> {
        fs::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        file.persist(&path)?;
        Ok(())
    };
    write().unwrap_or_default();
}

fn file(directory: &Path, settings: &ServerSettings) -> Option<PathBuf> {
    let identity = format!("{:?} {}", settings.name, settings.launch.as_ref().ok()?.identity());
    let digest = digest(identity.as_bytes());
    Some(directory.join(format!("{}.json", head(&digest, DIGEST_LETTERS))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::Expand;
    use crate::settings::{Origin, WrittenServer};

    #[test]
    fn a_list_is_found_again_for_the_same_server_only() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let server = |name: &str, command: &str, key: &str| {
            let env = [("KEY".to_owned(), key.to_owned())].into();
            let command = Some(command.to_owned());
            let written = WrittenServer { command, env, ..WrittenServer::default() };
            written.settle(name, Origin::Settings, &Expand::new(&|_| None, &[]))
        };
        let tool = Listed {
            name: "t".into(),
            description: String::new(),
            schema: "{}".into(),
            read_only: true,
            idempotent: false,
        };
        write(directory, &server("a", "x", "1"), std::slice::from_ref(&tool));
        assert_eq!(read(directory, &server("a", "x", "2")), Some(vec![tool]));
        assert_eq!(read(directory, &server("a", "y", "1")), None);
        assert_eq!(read(directory, &server("b", "x", "1")), None);
        let path = file(directory, &server("a", "x", "1")).unwrap();
        fs::write(path, "{").unwrap();
        assert_eq!(read(directory, &server("a", "x", "1")), None);
    }
}
