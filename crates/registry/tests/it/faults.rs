//! What is made of registries that break off, lie, or ask for patience.

use std::time::Duration;

use pullwright_registry::{Client, Layout, PullError, Quiet, Request};
use pullwright_testkit::standin::{Fault, Image, Registry, Trouble, digest};

use crate::scene::{Diary, NAME, Scene, image, requests, runtime, source};

fn serving(scene: &Scene) -> (Registry, String) {
    let registry = scene.open_registry();
    registry.put("team/app", Some("1"), &image());
    (registry, digest(&image().layers[0]))
}

/// The parts of a blob that were asked for.
fn ranges(registry: &Registry, blob: &str) -> Vec<Option<String>> {
    let accesses = registry.log().into_iter().filter(|access| access.path.contains(blob));
    accesses.map(|access| access.range).collect()
}

#[test]
fn a_blob_goes_on_where_its_connection_broke() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    registry.inject(Fault::new(&layer, 2, Trouble::CutAfter(100_000)));
    let diary = Diary::default();
    scene.pull_telling(&[source(&registry, "1")], &diary).unwrap();
    scene.assert_holds(&image());
    let ranges = ranges(&registry, &layer);
    assert_eq!(ranges.len(), 3);
    assert_eq!(ranges[0], None);
    // What had arrived when the connection broke may be a little less than what was sent.
    let starts: Vec<u32> = ranges[1..]
        .iter()
        .map(|range| range.as_ref().unwrap()["bytes=".len()..].trim_end_matches('-').parse().unwrap())
        .collect();
    assert!(starts[0] > 0 && starts[0] <= 100_000 && starts[1] > starts[0], "{starts:?}");
    let interrupted = diary.0.into_inner().unwrap().into_iter().filter(|name| name == "Interrupted").count();
    assert_eq!(interrupted, 2);
}

#[test]
fn a_registry_that_cannot_give_the_rest_gives_the_whole_again() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    registry.inject(Fault::new(&layer, 1, Trouble::CutAfter(100_000)));
    registry.inject(Fault::new(&layer, 1, Trouble::Whole));
    scene.pull(&[source(&registry, "1")]).unwrap();
    scene.assert_holds(&image());
    assert_eq!(ranges(&registry, &layer).len(), 2);
}

#[test]
fn a_registry_that_has_no_such_part_is_asked_for_the_whole() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    registry.inject(Fault::new(&layer, 1, Trouble::CutAfter(100_000)));
    registry.inject(Fault::new(&layer, 1, Trouble::Status(416, None)));
    scene.pull(&[source(&registry, "1")]).unwrap();
    scene.assert_holds(&image());
    assert_eq!(ranges(&registry, &layer)[2], None);
}

#[test]
fn a_blob_that_stalls_goes_on_after_the_time_allowed() {
    let mut scene = Scene::new();
    scene.options.timeouts.idle = Duration::from_secs(1);
    let (registry, layer) = serving(&scene);
    registry.inject(Fault::new(&layer, 1, Trouble::StallAfter(100_000)));
    scene.pull(&[source(&registry, "1")]).unwrap();
    scene.assert_holds(&image());
}

#[test]
fn a_blob_that_breaks_again_and_again_is_given_up() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    registry.inject(Fault::always(&layer, Trouble::CutAfter(0)));
    let failure = scene.failure(&[source(&registry, "1")]);
    assert!(failure.contains(&format!("reading blob {layer}: the connection to")), "{failure}");
    assert_eq!(requests(&registry, &layer), 4, "once, and three times more");
    assert_eq!(scene.named(), None);
    assert_eq!(scene.unfinished(), Vec::<String>::new());
}

#[test]
fn bytes_that_are_not_the_blob_are_not_kept() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    registry.inject(Fault::always(&layer, Trouble::OtherBytes));
    let failure = scene.failure(&[source(&registry, "1")]);
    assert!(failure.contains(&format!("the digest should be {layer} but is sha256:")), "{failure}");
    assert_eq!(scene.blob(&layer), None);
    assert_eq!(scene.named(), None);
    assert_eq!(scene.unfinished(), Vec::<String>::new());
}

#[test]
fn a_size_that_is_not_the_manifests_is_refused() {
    for (said, real) in [(6, 5), (4, 5)] {
        let scene = Scene::new();
        let registry = scene.open_registry();
        let image = Image::new(vec![vec![b'x'; real]]);
        registry.put("team/app", None, &image);
        let lying = String::from_utf8(image.manifest())
            .unwrap()
            .replace(&format!("\"size\":{real}}}"), &format!("\"size\":{said}}}"));
        registry.put_manifest("team/app", Some("1"), "application/json", lying.as_bytes());
        let failure = scene.failure(&[source(&registry, "1")]);
        assert!(failure.ends_with(&format!("the size should be {said} bytes but is {real}")), "{failure}");
    }
}

#[test]
fn a_manifest_of_another_size_than_its_index_says_is_refused() {
    let scene = Scene::new();
    let registry = scene.open_registry();
    registry.put("team/app", None, &image());
    let manifest = image().manifest();
    let index = format!(
        r#"{{"schemaVersion": 2, "manifests": [{{"mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": "{}", "size": 7, "platform": {{"os": "linux", "architecture": "{}"}}}}]}}"#,
        digest(&manifest),
        image().architecture
    );
    registry.put_manifest("team/app", Some("1"), "application/vnd.oci.image.index.v1+json", index.as_bytes());
    let failure = scene.failure(&[source(&registry, "1")]);
    let size = manifest.len();
    assert!(failure.ends_with(&format!("the size should be 7 bytes but is {size}")), "{failure}");
}

#[test]
fn a_blob_of_unsaid_length_ends_where_the_manifest_says() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    registry.inject(Fault::new(&layer, 1, Trouble::Chunked("and more".to_owned())));
    let failure = scene.failure(&[source(&registry, "1")]);
    let size = image().layers[0].len();
    assert!(failure.contains(&format!("the size should be {size} bytes but is ")), "{failure}");
    registry.inject(Fault::new(&layer, 1, Trouble::Chunked(String::new())));
    scene.pull(&[source(&registry, "1")]).unwrap();
    scene.assert_holds(&image());
}

#[test]
fn a_registry_that_asks_for_patience_gets_it_within_bounds() {
    for trouble in [
        Trouble::Status(429, Some(0)),
        Trouble::Status(503, None),
        Trouble::Status(500, Some(0)),
        Trouble::CutAfter(0),
    ] {
        for path in ["/v2/", "/manifests/", "/blobs/"] {
            let scene = Scene::new();
            let (registry, _) = serving(&scene);
            registry.inject(Fault::new(path, 3, trouble.clone()));
            scene.pull(&[source(&registry, "1")]).unwrap();
            scene.assert_holds(&image());
        }
    }
    let scene = Scene::new();
    let (registry, _) = serving(&scene);
    registry.inject(Fault::always("/manifests/", Trouble::Status(503, Some(0))));
    let failure = scene.failure(&[source(&registry, "1")]);
    assert!(failure.ends_with("answered 503"), "{failure}");
    assert_eq!(requests(&registry, "/manifests/"), 4);
}

#[test]
fn a_registry_that_asks_for_too_much_patience_is_given_up_at_once() {
    let scene = Scene::new();
    let (registry, _) = serving(&scene);
    registry.inject(Fault::always("/manifests/", Trouble::Status(429, Some(3_600))));
    scene.failure(&[source(&registry, "1")]);
    assert_eq!(requests(&registry, "/manifests/"), 1);
}

#[test]
fn a_manifest_is_read_up_to_four_mebibytes() {
    let scene = Scene::new();
    let (registry, _) = serving(&scene);
    registry.inject(Fault::always("/manifests/", Trouble::Huge(1 << 40)));
    let failure = scene.failure(&[source(&registry, "1")]);
    assert!(failure.ends_with("larger than 4194304 bytes; refused"), "{failure}");
}

#[test]
fn a_manifest_that_is_none_or_that_its_own_header_denies_is_refused() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    for (trouble, words) in [
        (Trouble::Body("<html>log in</html>".to_owned()), "parsing the manifest"),
        (Trouble::Header("Docker-Content-Digest", layer.clone()), "the digest should be"),
        (
            Trouble::Header("Docker-Content-Digest", "sha256:../../x".to_owned()),
            "the registry's digest header is no digest",
        ),
        (Trouble::OtherBytes, "the digest should be"),
    ] {
        registry.mend();
        registry.inject(Fault::always("/manifests/", trouble));
        let failure = scene.failure(&[source(&registry, "1")]);
        assert!(failure.contains(words), "{failure}");
    }
}

#[test]
fn a_token_service_that_floods_is_cut_short() {
    let scene = Scene::new();
    let registry = scene.registry(pullwright_testkit::standin::Setup {
        login: pullwright_testkit::standin::Login::Token,
        ..Default::default()
    });
    registry.inject(Fault::always("/token", Trouble::Huge(1 << 40)));
    let failure = scene.failure(&[source(&registry, "1")]);
    assert!(failure.contains("larger than 1048576 bytes"), "{failure}");
}

#[test]
fn a_pull_that_is_given_up_leaves_nothing_unfinished() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    registry.inject(Fault::always(&layer, Trouble::StallAfter(100_000)));
    let sources = [source(&registry, "1")];
    let ended: Result<Result<_, PullError>, _> = runtime().block_on(async {
        let client = Client::new(scene.options.clone()).unwrap();
        let request = Request { name: NAME, sources: &sources, platforms: scene.platforms.clone() };
        let layout = scene.layout();
        let pull = client.pull(&request, &layout, &Quiet);
        tokio::time::timeout(Duration::from_secs(1), pull).await
    });
    assert!(ended.is_err(), "it waits for the rest of the layer");
    assert_eq!(scene.unfinished(), Vec::<String>::new());
    assert_eq!(scene.named(), None);
    registry.mend();
    scene.pull(&sources).unwrap();
    scene.assert_holds(&image());
}

#[test]
fn what_cannot_be_written_is_not_called_a_fault_of_the_registry() {
    let scene = Scene::new();
    let (registry, layer) = serving(&scene);
    let path = scene.layout().blob(&pullwright_registry::Digest::parse(&layer).unwrap());
    std::fs::create_dir_all(path.join("in the way")).unwrap();
    let error = scene.pull(&[source(&registry, "1")]).unwrap_err();
    assert!(matches!(error, PullError::Layout(_)), "{error}");
    drop(Layout::open(&scene.root()).unwrap());
    assert_eq!(scene.unfinished(), Vec::<String>::new());
}
