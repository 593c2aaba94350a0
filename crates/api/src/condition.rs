//! Conditions: their types and reasons, and the schema of `status.conditions`.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A `CRIOCredentialProviderConfig`: whether all images can be asked for.
pub const VALIDATED: &str = "Validated";
/// `Validated`: they can.
pub const SUCCEEDED: &str = "Succeeded";
/// Not `Validated`: the API let something pass that cannot work.
pub const VALIDATION_FAILED: &str = "ValidationFailed";
/// Not `Validated`: images were left out that another provider is asked for.
pub const CONFIGURATION_PARTIALLY_APPLIED: &str = "ConfigurationPartiallyApplied";

/// A `CRIOCredentialProviderConfig`: whether the files for the nodes are made.
pub const MACHINE_CONFIG_RENDERED: &str = "MachineConfigRendered";
/// `MachineConfigRendered`: they are.
pub const MACHINE_CONFIG_RENDERING_SUCCEEDED: &str = "MachineConfigRenderingSucceeded";
/// Not `MachineConfigRendered`: they are not.
pub const MACHINE_CONFIG_RENDERING_FAILED: &str = "MachineConfigRenderingFailed";

/// A `CRIOCredentialProviderConfig`: whether the nodes have the files.
pub const NODES_UPDATED: &str = "NodesUpdated";
/// `NodesUpdated`: all of them have.
pub const ALL_NODES: &str = "AllNodes";
/// Not `NodesUpdated`: some are still to get them.
pub const ROLLING_OUT: &str = "RollingOut";
/// Not `NodesUpdated`: some could not take them.
pub const NODES_FAILED: &str = "NodesFailed";
/// `NodesUpdated` is unknown: there are no nodes that could have them.
pub const NO_NODES: &str = "NoNodes";

/// A mirror set: whether its rules are in what the nodes should have. Also the reason if all of them are.
pub const APPLIED: &str = "Applied";
/// Not `Applied`: some rules are left out.
pub const PARTLY_APPLIED: &str = "PartlyApplied";
/// Not `Applied`: all rules are left out.
pub const REJECTED: &str = "Rejected";

/// A `NodeState`: whether the node has what it should have. [`APPLIED`] is the reason if it has.
pub const READY: &str = "Ready";
/// Not `Ready`: the node is being changed. The only reason that is not a failure.
pub const PROGRESSING: &str = "Progressing";
/// Not `Ready`: it did not work, and the node has again what it had before. It tries again only when it is told something else.
pub const ROLLED_BACK: &str = "RolledBack";
/// Not `Ready`: it could not be written. The node goes on trying.
pub const FAILED: &str = "Failed";
/// Not `Ready`: it did not work, and what the node had before could not be brought back either.
pub const NOT_UNDONE: &str = "NotUndone";

/// A `NodeState`: whether the plugin works on the node. It is there only if not.
pub const PLUGIN_WORKS: &str = "PluginWorks";
/// Not `PluginWorks`: most runs fail for what is wrong on the node.
pub const RUNS_FAIL: &str = "RunsFail";

/// The schema of the list, with the rules that the Go tools generate for it. k8s-openapi's own has the types of a condition's
/// fields and none of the rules.
pub(crate) fn list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "minItems": 1,
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "description": "One aspect of the current state of this object.",
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "description": "When `status` last changed.",
                    "type": "string",
                    "format": "date-time",
                },
                "message": {
                    "description": "What is so, for people. It may be empty.",
                    "type": "string",
                    "maxLength": 32768,
                },
                "observedGeneration": {
                    "description": "The `metadata.generation` that this was found for. If the object's is higher, this is out of date.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "reason": {
                    "description": "Why `status` last changed, in one CamelCase word for programs.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "status": {
                    "description": "Whether it is so: True, False or Unknown.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "type": {
                    "description": "Which aspect this is, in CamelCase.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
            },
        },
    })
}
