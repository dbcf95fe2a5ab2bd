//! Where a provider is, and how it knows us.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use crate::model::ModelFailure;

/// Where requests go.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The part of the URL in front of the dialect's path, without a slash at its end.
    pub base_url: String,
    /// How the provider knows us.
    pub auth: Auth,
    /// Headers that the settings add.
    pub headers: Vec<(String, String)>,
}

/// How a provider knows us.
#[derive(Clone, Debug)]
pub enum Auth {
    /// It does not.
    None,
    /// `Authorization: Bearer KEY`.
    Bearer(Arc<dyn KeySource>),
    /// A header of its own.
    Header(&'static str, Arc<dyn KeySource>),
}

/// Gives keys: a variable, a command, a login.
pub trait KeySource: fmt::Debug + Send + Sync {
    /// The key. With `refresh` the last one was refused, and another one is wanted.
    fn key(&self, refresh: bool) -> BoxFuture<'_, Result<Secret, ModelFailure>>;

    /// Whether asking again can give another key.
    fn can_refresh(&self) -> bool;
}

/// A key. Shows itself to nobody but the request, and is wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(Zeroizing::new(key.into()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl KeySource for Secret {
    fn key(&self, _refresh: bool) -> BoxFuture<'_, Result<Secret, ModelFailure>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }

    fn can_refresh(&self) -> bool {
        false
    }
}

impl Auth {
    pub(super) fn can_refresh(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bearer(source) | Self::Header(_, source) => source.can_refresh(),
        }
    }

    /// The header, if there is one. With `refresh` the last key was refused.
    pub async fn header(
        &self,
        refresh: bool,
    ) -> Result<Option<(&'static str, Zeroizing<String>)>, ModelFailure> {
        Ok(match self {
            Self::None => None,
            Self::Bearer(source) => {
                let Secret(key) = source.key(refresh).await?;
                // Put together at once: what had to move would leave a copy behind.
                Some(("authorization", Zeroizing::new(["Bearer ", key.as_str()].concat())))
            }
            Self::Header(name, source) => {
                let Secret(key) = source.key(refresh).await?;
                Some((name, key))
            }
        })
    }
}
