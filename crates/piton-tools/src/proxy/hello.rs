//! The first message of TLS, as far as it says to whom it is addressed.

/// Longest such message, in bytes.
const HELLO_BYTES_MAX: usize = 64 * 1024;
/// A record that opens a handshake.
const HANDSHAKE: u8 = 22;
/// The first message of a client.
const CLIENT_HELLO: u8 = 1;
/// The extension with the name of the server.
const SERVER_NAME: u16 = 0;
/// The kind of a name that is a host.
const HOST_NAME: u8 = 0;

/// What the first bytes of a client are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// Not enough of them to tell.
    Begun,
    /// Something else than TLS.
    Other,
    /// TLS, addressed to this name, or to none.
    To(Option<String>),
    /// TLS, or meant to be, and not understood.
    Unclear,
}

/// Reads what a client said first.
pub(super) fn read(bytes: &[u8]) -> Hello {
    match bytes.first() {
        None => Hello::Begun,
        Some(&HANDSHAKE) => match message(bytes) {
            Ok(Some(message)) => match server_name(&message) {
                Some(name) => Hello::To(name),
                None => Hello::Unclear,
            },
            Ok(None) if bytes.len() < HELLO_BYTES_MAX => Hello::Begun,
            Ok(None) | Err(()) => Hello::Unclear,
        },
        Some(_) => Hello::Other,
    }
}

/// The message in the records; none if it is not there as a whole.
fn message(bytes: &[u8]) -> Result<Option<Vec<u8>>, ()> {
    let mut rest = Bytes(bytes);
    let mut message = Vec::new();
    loop {
        if let [kind, a, b, c, body @ ..] = message.as_slice() {
            let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            if *kind != CLIENT_HELLO || HELLO_BYTES_MAX < length {
                return Err(());
            }
            if length <= body.len() {
                return Ok(body.get(..length).map(<[u8]>::to_vec));
            }
        }
        match rest.byte() {
            None => return Ok(None),
            Some(HANDSHAKE) => {}
            Some(_) => return Err(()),
        }
        let (Some(_), Some(length)) = (rest.number(), rest.number()) else { return Ok(None) };
        if length == 0 {
            return Err(());
        }
        let Some(fragment) = rest.take(usize::from(length)) else { return Ok(None) };
        message.extend(fragment);
    }
}

/// The name in a message; `None` if the message is not understood, or has several.
#[expect(clippy::option_option, reason = "it has none, it has one, it is not understood")]
fn server_name(message: &[u8]) -> Option<Option<String>> {
    let mut rest = Bytes(message);
    // Version and random bytes.
    rest.take(2 + 32)?;
    let session = rest.byte()?;
    rest.take(session.into())?;
    let ciphers = rest.number()?;
    rest.take(ciphers.into())?;
    let compressions = rest.byte()?;
    rest.take(compressions.into())?;
    if rest.0.is_empty() {
        return Some(None);
    }
    let length = rest.number()?;
    let mut extensions = Bytes(rest.take(length.into())?);
    let mut name = None;
    while !extensions.0.is_empty() {
        let (kind, length) = (extensions.number()?, extensions.number()?);
        let content = extensions.take(length.into())?;
        if kind == SERVER_NAME && name.replace(only_name(content)?).is_some() {
            return None;
        }
    }
    Some(name)
}

fn only_name(content: &[u8]) -> Option<String> {
    let mut rest = Bytes(content);
    let length = rest.number()?;
    let mut list = Bytes(rest.take(length.into())?);
    let kind = list.byte()?;
    let length = list.number()?;
    let name = list.take(length.into())?;
    let is_only = kind == HOST_NAME && list.0.is_empty() && rest.0.is_empty();
    is_only.then(|| String::from_utf8(name.to_vec()).ok()).flatten()
}

/// Bytes that are read from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.try_into().ok()?;
        Some(u16::from_be_bytes(bytes))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn sized(body: &[u8]) -> Vec<u8> {
        [&u16::try_from(body.len()).unwrap().to_be_bytes(), body].concat()
    }

    /// The first message of a client to these names, in records of so many bytes.
    pub(in super::super) fn hello(names: &[&str], record: usize) -> Vec<u8> {
        let mut extensions = vec![0, 10, 0, 4, 0, 2, 0, 29];
        for name in names {
            let entry = [&[HOST_NAME][..], &sized(name.as_bytes())].concat();
            extensions.extend([&[0, 0][..], &sized(&sized(&entry))].concat());
        }
        let body =
            [&[3, 3][..], &[7; 32], &[0], &sized(&[0x13, 0x01]), &[1, 0], &sized(&extensions)]
                .concat();
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[CLIENT_HELLO][..], &length[1..], &body].concat();
        let records = message.chunks(record);
        records.flat_map(|part| [&[HANDSHAKE, 3, 1][..], &sized(part)].concat()).collect()
    }

    #[test]
    fn the_name_is_found_however_the_message_is_cut() {
        for record in [1, 7, 100, 10_000] {
            let bytes = hello(&["a.io"], record);
            assert_eq!(read(&bytes), Hello::To(Some("a.io".into())), "{record}");
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Hello::Begun, "{record} {end}");
            }
        }
        assert_eq!(read(&hello(&[], 1000)), Hello::To(None));
    }

    #[test]
    fn what_is_not_clear_is_no_name() {
        assert_eq!(read(&hello(&["a.io", "b.io"], 1000)), Hello::Unclear);
        assert_eq!(read(b"SSH-2.0"), Hello::Other);
        assert_eq!(read(&[HANDSHAKE, 3, 1, 0, 0]), Hello::Unclear);
        // Another message than the first one of a client.
        assert_eq!(read(&[HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0]), Hello::Unclear);
        assert_eq!(read(&[HANDSHAKE, 3, 1, 0, 4, 1, 255, 255, 255]), Hello::Unclear);
        let mut cut = hello(&["a.io"], 1000);
        let end = cut.len();
        cut[end - 1] = 0xFF;
        assert_eq!(read(&cut), Hello::Unclear, "a name that is no text");
    }

    #[test]
    fn no_bytes_make_it_fail() {
        let bytes = hello(&["a.io"], 1000);
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut changed = bytes.clone();
                changed[at] = value;
                read(&changed);
            }
        }
    }
}
