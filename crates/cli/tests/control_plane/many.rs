//! More objects than the API server gives at once.

use pullwright_testkit::control_plane::node;

use crate::world::{World, text};

/// Three pages.
const NODES: usize = 1_200;

#[test]
fn every_page_of_a_long_list_counts() {
    let world = World::bare("status-many");
    let nodes = (0..NODES).map(|number| {
        let runtime = if number % 2 == 0 { "cri-o://1.36.0" } else { "docker://28.0.1" };
        node(&format!("node-{number:04}"), runtime, "", "v1.36.0")
    });
    world.plane.create_many(nodes).unwrap();
    let text = text(&world.status(&[]));
    assert!(
        text.contains("  1200 nodes: 600 with crio, 600 with a runtime that is not supported\n"),
        "{text}"
    );
    assert!(text.contains(", and 590 more\n"), "{text}");
}
