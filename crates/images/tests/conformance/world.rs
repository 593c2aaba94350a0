//! A registry, containerd, the service in front of it, and a caller of each.

use pullwright_testkit::containerd::Containerd;
use pullwright_testkit::standin::{Image, Registry, Setup};

use crate::caller::Caller;
use crate::running::{Place, Running};

pub(crate) struct World {
    pub(crate) place: Place,
    pub(crate) containerd: Containerd,
    pub(crate) service: Running,
    pub(crate) directly: Caller,
    pub(crate) through: Caller,
}

impl World {
    /// Starts all of it; `prepare` may write files that containerd reads.
    pub(crate) async fn start(prepare: impl FnOnce(&Place)) -> Self {
        let place = Place::new();
        prepare(&place);
        let containerd = Containerd::start(place.containerd().parent().unwrap()).unwrap();
        let service = place.start(&[]).await;
        let directly = Caller::connect(&containerd.socket()).await;
        let through = place.caller().await;
        Self { place, containerd, service, directly, through }
    }
}

/// A registry with `count` images `app:0`, `app:1`, …, each with a layer of its own.
pub(crate) fn registry(setup: Setup<'_>, count: usize) -> Registry {
    let registry = Registry::start(setup).unwrap();
    for at in 0..count {
        registry.put("app", Some(&at.to_string()), &Image::new(vec![layer(&format!("image {at}"))]));
    }
    registry
}

/// A layer with one file: an empty archive would do for most runtimes, and not for all.
fn layer(content: &str) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(&mut header, "file", content.as_bytes()).unwrap();
    archive.into_inner().unwrap()
}
