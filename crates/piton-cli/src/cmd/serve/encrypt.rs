//! The certificate that a server encrypts with: found, read before anything listens, and renewed.

use piton_agent::{Agent, Settings};
use piton_server::{Tls, TlsError};

use crate::flags::Serve;
use crate::output::Output;
use crate::report::{Fault, Report, chain};

/// The certificate that flags or settings name, or what is wrong with it. None, if none is named.
pub(super) fn find(
    flags: &Serve,
    settings: &Settings,
) -> Result<Result<Option<Tls>, Report>, Fault> {
    let [mut cert, mut key] = [flags.cert.clone(), flags.key.clone()];
    if cert.is_none() && !flags.unencrypted {
        match Agent::load(settings.clone())?.serve_files() {
            Ok(found) => [cert, key] = found,
            Err(why) => return Ok(Err(Report::misuse(&format!("error: in the settings: {why}")))),
        }
    }
    let here = settings.directory()?;
    let read = match (cert, key) {
        (None, None) => return Ok(Ok(None)),
        (Some(cert), Some(key)) => Tls::read(&here.join(cert), &here.join(key)),
        (Some(_), None) | (None, Some(_)) => {
            return Ok(Err(Report::misuse(
                "error: serve.cert and serve.key belong together, and one of them is not set\n\
                 hint: piton config serve.cert FILE, piton config serve.key FILE",
            )));
        }
    };
    Ok(read.map(Some).map_err(|error| {
        let hint = match &error {
            TlsError::Read { .. } => "check the path, and that you may read the file",
            TlsError::NoCertificate(_) => "--cert takes the certificate, --key its private key",
            TlsError::NoKey(_) => {
                "--key takes an unencrypted private key: -----BEGIN PRIVATE KEY-----"
            }
            TlsError::Unusable { .. } => "take the key that the certificate was made with",
        };
        Report::misuse(&format!("error: {}\nhint: {hint}", chain(&error)))
    }))
}

/// Takes over a certificate that was renewed. One that cannot be used is told, and the old one counts.
pub(super) fn renew(tls: Option<&Tls>, output: &mut Output) {
    match tls.map(Tls::renew) {
        Some(Ok(true)) => output.talk("The renewed certificate counts from now on."),
        Some(Err(error)) => {
            let why = chain(&error);
            output.talk(&format!("warning: the old certificate stays in use: {why}"));
        }
        Some(Ok(false)) | None => {}
    }
}
