//! Answers that point elsewhere. They are not followed: the key is for the host that the user
//! named, and only some of the headers that carry keys are known to HTTP libraries.

use piton_core::event::FailureClass;
use reqwest::Url;
use reqwest::header::LOCATION;

use crate::model::ModelFailure;

/// What an answer that points elsewhere means. Asking again gets the same answer.
pub(super) fn redirected(response: &reqwest::Response) -> ModelFailure {
    let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    let target = location.and_then(|to| response.url().join(to).ok());
    let message = told(response.status().as_u16(), response.url(), target.as_ref());
    ModelFailure::new(FailureClass::InvalidRequest, message)
}

/// Hosts only: what else stands in an address may be a secret.
fn told(status: u16, from: &Url, to: Option<&Url>) -> String {
    let (from, to) = (host(from), to.map_or_else(|| "nowhere".into(), host));
    format!(
        "{from} redirects to {to} (status {status}); this is not followed, because the key would \
         go along: if {to} is to be trusted, set the provider's base_url to its address there"
    )
}

/// The host of an address, with the port if it is an unusual one.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("nowhere");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_are_named() {
        let from = Url::parse("https://u:pa55@a.invalid/v1?key=k3y").unwrap();
        let to = from.join("//v:pa66@b.invalid:81/x?token=t0ken").unwrap();
        let said = told(307, &from, Some(&to));
        assert!(said.starts_with("a.invalid redirects to b.invalid:81 (status 307);"), "{said}");
        assert!(!said.contains("pa55") && !said.contains("pa66"), "{said}");
        assert!(!said.contains("k3y") && !said.contains("t0ken"), "{said}");
    }
}
