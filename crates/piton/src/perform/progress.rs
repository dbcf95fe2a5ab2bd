//! How far running calls are: told to faces, kept nowhere.

use crate::driver::Driver;
use crate::flight::progress::{Newest, head};

/// Longest word on how far a call is, in bytes.
const TEXT_BYTES_MAX: usize = 400;

impl Driver<'_> {
    /// Shows faces how far calls are.
    pub(crate) fn show_progress(&mut self) {
        let newest = self.progress.take();
        let (running, veil) = (self.running(), self.veil());
        for (call, Newest { far, printed }) in newest {
            if !running.contains(&call) {
                continue;
            }
            if let Some(mut text) = far {
                veil.cut_text(&mut text);
                self.log.live().progress(call, head(&text, TEXT_BYTES_MAX));
            }
            if let Some((mut tail, bytes)) = printed {
                veil.cut_text(&mut tail);
                self.log.live().printed(call, tail, bytes);
            }
        }
    }
}
