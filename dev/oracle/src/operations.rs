//! The questions, one module each.

pub(crate) mod auth;
pub(crate) mod handed_over;
mod keyring;
mod locations;
mod matching;
mod mirror_sets;
mod provider_config;
mod reference;
pub(crate) mod registries;
mod response;
mod secret;
mod yaml;

use serde_json::Value;

use crate::process::{Oracle, ProcessError};
use crate::run::{Judged, Outcome, Settings, replay, run};

/// An operation with its type hidden, for tables of all of them.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// How many of a thousand answers are its.
    pub share: usize,
    /// Runs it for that many answers.
    pub run: fn(&Settings, usize) -> Result<Outcome, ProcessError>,
    /// Asks one case again.
    pub replay: fn(&mut Oracle, &Value) -> Result<Vec<Judged>, ProcessError>,
}

macro_rules! entry {
    ($operation:ty, $share:literal) => {
        Entry {
            name: <$operation as crate::operation::Operation>::NAME,
            share: $share,
            run: run::<$operation>,
            replay: replay::<$operation>,
        }
    };
}

/// All of them.
pub const ALL: &[Entry] = &[
    entry!(reference::References, 200),
    entry!(registries::Registries, 250),
    entry!(locations::Locations, 30),
    entry!(auth::AuthFiles, 120),
    entry!(secret::Secrets, 60),
    entry!(handed_over::HandedOver, 80),
    entry!(matching::Matching, 100),
    entry!(keyring::Keyrings, 50),
    entry!(provider_config::ProviderConfigs, 80),
    entry!(response::Responses, 30),
    entry!(yaml::Yaml, 40),
    entry!(mirror_sets::MirrorSets, 20),
];
