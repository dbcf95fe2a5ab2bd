//! Short digests for names. The same on every machine and in every build, which the standard hasher
//! does not promise; not for secrets.

/// FNV-1a.
pub(crate) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
