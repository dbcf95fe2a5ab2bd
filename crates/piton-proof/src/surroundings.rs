//! Settings with context: each turn tells the model a number, so that every suite has such facts too.

use async_trait::async_trait;
use piton::profile::{ContextRequest, OneProfile, Profile, ProfileError, ProfileRequest, Profiles};
use piton_core::event::ContextItem;
use piton_core::id::Digest;

/// What the context is about.
const NAME: &str = "number";

/// One profile, and with each turn that begins the number behind the last one that the model was told.
/// It depends on the journal alone, so a turn that was killed has the same as one that was not.
#[derive(Clone, Debug, Default)]
pub struct Surroundings(pub OneProfile);

impl From<Profile> for Surroundings {
    fn from(profile: Profile) -> Self {
        Self(OneProfile(profile))
    }
}

#[async_trait]
impl Profiles for Surroundings {
    async fn profile(&self, request: ProfileRequest<'_>) -> Result<Profile, ProfileError> {
        self.0.profile(request).await
    }

    async fn context(&self, request: ContextRequest<'_>) -> Vec<ContextItem> {
        let told = request.told.get(NAME).and_then(|digest| digest.as_str().parse().ok());
        let number = told.map_or(1, |told: u64| told + 1).to_string();
        let text = Some(format!("number: {number}").into());
        vec![ContextItem { name: NAME.into(), digest: Digest::new(number), text }]
    }
}
