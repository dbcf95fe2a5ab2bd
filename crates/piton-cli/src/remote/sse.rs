//! Server-sent events, read from pieces of bytes that end anywhere.

/// Longest event, in bytes: the view of a conversation comes whole. More is no server of ours.
const EVENT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) data: String,
}

/// An event that is longer than any of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Reads events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that has not ended.
    line: Vec<u8>,
    /// The event that has not ended.
    event: Event,
}

impl Events {
    /// Takes a piece in; the events that it ends.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end);
            self.line.extend_from_slice(line);
            rest = behind.get(1..).unwrap_or_default();
            events.extend(self.end_line());
        }
        self.line.extend_from_slice(rest);
        if EVENT_BYTES_MAX < self.line.len() + self.event.data.len() {
            return Err(TooLong);
        }
        Ok(events)
    }

    /// The event, if an empty line ends it.
    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return (!event.name.is_empty() || !event.data.is_empty()).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "id" => self.event.id = Some(value.to_owned()),
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_wherever_their_pieces_end() {
        let text = "event: hello\ndata: {}\n\n: remark\n\nevent: change\r\nid: a:1\r\ndata: {\"é\":\r\ndata: 1}\r\n\r\n";
        let hello = Event { name: "hello".into(), id: None, data: "{}".into() };
        let change =
            Event { name: "change".into(), id: Some("a:1".into()), data: "{\"é\":\n1}".into() };
        for size in 1..=text.len() {
            let mut events = Events::default();
            let pieces = text.as_bytes().chunks(size);
            let read: Vec<_> = pieces.flat_map(|piece| events.take(piece).unwrap()).collect();
            assert_eq!(read, [hello.clone(), change.clone()], "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_not_kept_for_ever() {
        let mut events = Events::default();
        let piece = vec![b'x'; EVENT_BYTES_MAX / 4];
        let taken: Vec<_> = (0..5).map(|_| events.take(&piece).is_ok()).collect();
        assert_eq!(taken, [true, true, true, true, false]);
    }
}
