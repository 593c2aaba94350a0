//! The history of etcd, from which watches are resumed.

use serde_json::json;

use super::ControlPlane;
use crate::{Error, client::Client};

impl ControlPlane {
    /// Has etcd forget all but the present state, and returns its revision.
    ///
    /// kube-apiserver has a history of its own in memory. If you restart it as well, a watch from an earlier
    /// `resourceVersion` ends with 410 Gone.
    pub fn compact(&self) -> Result<i64, Error> {
        let mut etcd = Client::connect(self.place, self.ports.etcd, None)?;
        // Some key that nobody has: the revision is in the head of every answer. etcd writes bytes in base64.
        let range = ("POST", "/v3/kv/range");
        let answer = etcd.send(range, Some(("application/json", &json!({"key": "AA=="}))))?;
        // It writes numbers of 64 bits as text.
        let text = answer["header"]["revision"].as_str().unwrap_or_default();
        let revision = text.parse().map_err(|_| Error::Refused {
            request: "POST /v3/kv/range".to_owned(),
            status: 200,
            answer: answer.to_string(),
        })?;
        let compaction = json!({"revision": text, "physical": true});
        etcd.send(("POST", "/v3/kv/compaction"), Some(("application/json", &compaction)))?;
        Ok(revision)
    }
}
