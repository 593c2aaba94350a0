//! What arrives when nothing is broken.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullwright_registry::{Client, Digest, Event, Platform, Platforms, Quiet, Request};
use pullwright_testkit::standin::{Image, digest};

use crate::scene::{NAME, Scene, image, requests, runtime, source};

#[test]
fn an_image_is_pulled_by_tag_and_by_digest() {
    let scene = Scene::new();
    let registry = scene.open_registry();
    let image = image();
    let by_digest = registry.put("team/app", Some("1"), &image);
    for version in ["1", &by_digest, &format!("another-tag@{by_digest}")] {
        fs::remove_dir_all(scene.root()).ok();
        let source = source(&registry, version);
        let pulled = scene.pull(std::slice::from_ref(&source)).unwrap();
        assert_eq!(pulled.digest.as_str(), by_digest);
        assert_eq!((pulled.source, pulled.position), (source.from.reference, 0));
        scene.assert_holds(&image);
    }
}

#[test]
fn an_image_in_dockers_format_keeps_its_digest() {
    let scene = Scene::new();
    let registry = scene.open_registry();
    let image = Image { docker: true, ..image() };
    registry.put("team/app", Some("1"), &image);
    scene.pull(&[source(&registry, "1")]).unwrap();
    scene.assert_holds(&image);
}

#[test]
fn what_is_there_and_good_is_not_fetched_again() {
    let scene = Scene::new();
    let registry = scene.open_registry();
    let image = image();
    registry.put("team/app", Some("1"), &image);
    scene.pull(&[source(&registry, "1")]).unwrap();
    assert_eq!(requests(&registry, "/blobs/"), 3);
    scene.pull(&[source(&registry, "1")]).unwrap();
    assert_eq!(requests(&registry, "/blobs/"), 3);

    let damaged = Digest::parse(&digest(&image.layers[0])).unwrap();
    let path = scene.layout().blob(&damaged);
    let mut content = fs::read(&path).unwrap();
    content[7] ^= 1;
    fs::write(&path, content).unwrap();
    scene.pull(&[source(&registry, "1")]).unwrap();
    assert_eq!(requests(&registry, "/blobs/"), 4);
    scene.assert_holds(&image);
}

#[test]
fn of_an_index_the_image_for_the_platform_is_pulled_or_all_of_them() {
    let mut scene = Scene::new();
    let registry = scene.open_registry();
    let mips = Image { architecture: "mips", ..Image::new(vec![b"layer for mips".to_vec()]) };
    let index = registry.put_index("team/app", "1", &[mips.clone(), image()]);

    let pulled = scene.pull(&[source(&registry, "1")]).unwrap();
    assert_eq!(pulled.digest.as_str(), index);
    scene.assert_holds(&image());
    assert_eq!(scene.blob(&digest(&mips.layers[0])), None);

    scene.platforms = Platforms::One("linux/mips".parse().unwrap());
    scene.pull(&[source(&registry, "1")]).unwrap();
    scene.assert_holds(&mips);

    scene.platforms = Platforms::All;
    scene.pull(&[source(&registry, "1")]).unwrap();
    assert_eq!(scene.named(), Some(index));

    scene.platforms = Platforms::One("linux/s390x".parse().unwrap());
    let failure = scene.failure(&[source(&registry, "1")]);
    let offered = format!("linux/mips, {}", Platform::this());
    assert!(failure.ends_with(&format!("no image for linux/s390x; there are: {offered}")), "{failure}");
}

#[test]
fn blobs_come_at_the_same_time_but_not_more_than_allowed() {
    let mut scene = Scene::new();
    scene.options.parallel = 3.try_into().unwrap();
    let registry = scene.open_registry();
    let image = Image::new((0..12).map(|layer| vec![layer; 100_000]).collect());
    registry.put("team/app", Some("1"), &image);
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let watch = |event: Event<'_>| match event {
        Event::Begun { .. } => {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        }
        Event::Done { .. } => {
            now.fetch_sub(1, Ordering::SeqCst);
        }
        _ => {}
    };
    scene.pull_telling(&[source(&registry, "1")], &watch).unwrap();
    assert_eq!(most.into_inner(), 3);
    scene.assert_holds(&image);
}

#[test]
fn progress_counts_every_byte_once() {
    let scene = Scene::new();
    let registry = scene.open_registry();
    let image = image();
    registry.put("team/app", Some("1"), &image);
    let (planned, here) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let last = std::sync::Mutex::new(std::collections::HashMap::new());
    let watch = |event: Event<'_>| match event {
        Event::Planned { bytes, .. } => planned.store(usize::try_from(bytes).unwrap(), Ordering::SeqCst),
        Event::Here { blob, bytes } => {
            last.lock().unwrap().insert(blob.clone(), bytes);
        }
        Event::Done { blob, .. } => {
            let bytes = last.lock().unwrap()[blob];
            here.fetch_add(usize::try_from(bytes).unwrap(), Ordering::SeqCst);
        }
        _ => {}
    };
    scene.pull_telling(&[source(&registry, "1")], &watch).unwrap();
    let bytes: usize = image.layers.iter().map(Vec::len).sum::<usize>() + image.config().len();
    assert_eq!((planned.into_inner(), here.into_inner()), (bytes, bytes));
}

/// The controllers pull in tasks that any thread may go on with; that this compiles is the test.
#[test]
fn a_pull_may_move_from_thread_to_thread() {
    fn is_send(_: &(impl Send + ?Sized)) {}
    let scene = Scene::new();
    let client = Client::new(scene.options.clone()).unwrap();
    let request = Request { name: NAME, sources: &[], platforms: Platforms::This };
    let layout = scene.layout();
    let pull = client.pull(&request, &layout, &Quiet);
    is_send(&pull);
    assert!(runtime().block_on(pull).is_err());
}
