//! The runtimes of the API are those of the table.

use pullwright_api::NodeRuntime;
use pullwright_nodeconfig::RUNTIMES;

#[test]
fn every_runtime_of_the_table_can_have_a_configuration() {
    let table: Vec<_> = RUNTIMES.iter().map(|runtime| runtime.name).collect();
    assert_eq!(NodeRuntime::ALL.map(NodeRuntime::name), *table);
}
