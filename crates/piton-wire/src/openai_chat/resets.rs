//! When a used-up rate limit window ends: headers of `OpenAI` and of servers that copy it.

use crate::wait;

/// Milliseconds until what is used up is back.
pub(super) fn of_headers(header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let of = |what: &str| {
        let left = header(&format!("x-ratelimit-remaining-{what}"))?;
        let spent = left.trim() == "0";
        let reset = header(&format!("x-ratelimit-reset-{what}")).filter(|_| spent)?;
        wait::duration(&reset)
    };
    of("requests").max(of("tokens"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_says_when_it_is_back() {
        let check = |headers: &[(&str, &str)], expected| {
            let header = |name: &str| {
                let found = headers.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(of_headers(&header), expected, "{headers:?}");
        };
        let spent = ("x-ratelimit-remaining-tokens", "0");
        check(&[spent, ("x-ratelimit-reset-tokens", "1m2s")], Some(62_000));
        check(&[("x-ratelimit-reset-tokens", "1m2s")], None);
    }
}
