//! Faults in a line: `[STEP:]KIND[,after=N|after=Nb][,times=N][,wait=MS]`.
//!
//! Made for a command line; scripts spell the same out in JSON.

use piton_core::event::FailureClass;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::fault::{Fault, FaultKind};

/// Statuses that are errors.
const STATUSES: std::ops::RangeInclusive<u16> = 400..=599;

/// A fault that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultTextError {
    /// There is no such kind.
    #[error(
        "no fault is called {0:?}; there are: a status from 400 to 599, cut, no-end, empty, stall, \
         drop, garbage, bad-signature, overloaded, rate-limited, server, auth, quota, \
         invalid-request, context-overflow, content-filter"
    )]
    Kind(String),
    /// A step that is no number from 1.
    #[error("{0:?} is no step; steps are numbered from 1")]
    Step(String),
    /// An addition that makes no sense.
    #[error("{0:?} is none of after=EVENTS, after=BYTESb, times=N and wait=MILLISECONDS")]
    Addition(String),
}

/// Reads a fault, and the step that it spoils, counted from 0; without one, any.
pub fn parse_fault(text: &str) -> Result<(Option<usize>, Fault), FaultTextError> {
    let (step, rest) = match text.split_once(':') {
        None => (None, text),
        Some((step, rest)) => {
            let number = step.trim().parse::<usize>().ok().and_then(|step| step.checked_sub(1));
            (Some(number.ok_or_else(|| FaultTextError::Step(step.to_owned()))?), rest)
        }
    };
    let mut fields = rest.split(',').map(str::trim);
    let mut fault = Fault::new(kind(fields.next().unwrap_or_default())?);
    for field in fields {
        add(&mut fault, field).ok_or_else(|| FaultTextError::Addition(field.to_owned()))?;
    }
    Ok((step, fault))
}

fn kind(text: &str) -> Result<FaultKind, FaultTextError> {
    if let Some(status) = text.parse().ok().filter(|status| STATUSES.contains(status)) {
        return Ok(FaultKind::Status(status));
    }
    let name = text.replace('-', "_");
    let plain: StrDeserializer<'_, ValueError> = name.as_str().into_deserializer();
    if let Ok(kind) = FaultKind::deserialize(plain) {
        return Ok(kind);
    }
    let plain: StrDeserializer<'_, ValueError> = name.as_str().into_deserializer();
    let class = FailureClass::deserialize(plain);
    class.map(FaultKind::Fail).map_err(|_| FaultTextError::Kind(text.to_owned()))
}

fn add(fault: &mut Fault, field: &str) -> Option<()> {
    let (name, value) = field.split_once('=')?;
    match (name, value.strip_suffix('b')) {
        ("after", Some(bytes)) => fault.after_bytes = Some(bytes.parse().ok()?),
        ("after", None) => fault.after = value.parse().ok()?,
        ("times", None) => fault.times = value.parse().ok()?,
        ("wait", None) => fault.retry_after_ms = Some(value.parse().ok()?),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_shown_as_it_is_typed() {
        for name in
            ["cut", "no-end", "bad-signature", "529", "overloaded", "rate-limited", "stream-broke"]
        {
            assert_eq!(kind(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn a_fault_is_read_from_a_line() {
        let check = |text: &str, step: Option<usize>, fault: Fault| {
            assert_eq!(parse_fault(text), Ok((step, fault)), "{text}");
        };
        check("529", None, Fault::new(FaultKind::Status(529)));
        check("2:cut,after=3", Some(1), Fault::new(FaultKind::Cut).after(3));
        check("drop,after=120b", None, Fault::new(FaultKind::Drop).after_bytes(120));
        let busy = Fault::new(FaultKind::Fail(FailureClass::RateLimited));
        check("1:rate-limited,times=2,wait=50", Some(0), busy.times(2).retry_after_ms(50));
        check("bad-signature", None, Fault::new(FaultKind::BadSignature));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for text in ["", "200", "cute", "1:", "fail", "status"] {
            assert!(matches!(parse_fault(text), Err(FaultTextError::Kind(_))), "{text}");
        }
        for text in ["0:cut", "x:cut", ":cut"] {
            assert!(matches!(parse_fault(text), Err(FaultTextError::Step(_))), "{text}");
        }
        for text in ["cut,after", "cut,after=x", "cut,times=1b", "cut,when=1", "cut,"] {
            assert!(matches!(parse_fault(text), Err(FaultTextError::Addition(_))), "{text}");
        }
    }
}
