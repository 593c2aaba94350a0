//! The audit log of kube-apiserver: who asked for what, and in which order.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::{Error, error::Doing};

const POLICY: &str = include_str!("audit-policy.yaml");

/// The audit log of a control plane. It goes on when kube-apiserver is restarted.
///
/// kube-apiserver completes an entry after it has sent the answer, so a test has to wait a moment for it.
#[derive(Clone, Debug)]
pub struct AuditLog {
    folder: PathBuf,
}

/// A position in the audit log.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuditMark(u64);

/// One request, as kube-apiserver saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The verb of the API: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` and so on.
    pub verb: String,
    /// The path with its query.
    pub uri: String,
    /// The kind of object as it is called in paths, with its group: `leases.coordination.k8s.io`. `None` for requests that
    /// concern no objects, such as discovery.
    pub resource: Option<String>,
    /// The part of the object, such as `status`.
    pub subresource: Option<String>,
    /// The object's name. It is not yet known when a request to create an object arrives.
    pub name: Option<String>,
    /// The object's namespace.
    pub namespace: Option<String>,
    /// The user.
    pub user: String,
    /// The program that sent the request, as it calls itself.
    pub user_agent: String,
    /// When the request arrived.
    pub received: SystemTime,
    /// How it ended. `None` while it is under way, and for good if kube-apiserver was killed meanwhile.
    pub completed: Option<Completed>,
    /// The holder that a write to a Lease asks for. `None` if the write says nothing of it; an empty string gives the Lease up.
    pub holder: Option<String>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// When the answer was complete.
    pub at: SystemTime,
    /// The status of the answer.
    pub code: u16,
}

impl AuditEntry {
    /// Whether the request was to change something, whatever the answer. A dry run changes nothing, nor does a review.
    #[must_use]
    pub fn is_write(&self) -> bool {
        let group =
            self.resource.as_deref().and_then(|resource| resource.split_once('.')).map(|(_, group)| group);
        let review = matches!(group, Some("authorization.k8s.io" | "authentication.k8s.io"));
        !matches!(&*self.verb, "get" | "list" | "watch") && !review && !self.uri.contains("dryRun=")
    }

    /// Whether the request succeeded.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.completed.is_some_and(|completed| completed.code < 400)
    }
}

impl AuditLog {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Prepares the log for a new run of kube-apiserver, and returns the flags.
    pub(super) fn flags(&self) -> Result<Vec<String>, Error> {
        fs::create_dir_all(&self.folder).doing("creating", &self.folder)?;
        let policy = self.folder.join("policy.yaml");
        fs::write(&policy, POLICY).doing("writing", &policy)?;
        // A server that was killed may have left half a line, to which the next one would append.
        let file = self.file();
        if let Ok(bytes) = fs::read(&file) {
            let log = File::options().write(true).open(&file).doing("opening", &file)?;
            log.set_len(complete(&bytes).len() as u64).doing("cutting", &file)?;
        }
        Ok(vec![
            super::flag("audit-policy-file", &policy),
            super::flag("audit-log-path", &file),
            // In megabytes: larger than a test's, since it would otherwise begin a new file at 100.
            "--audit-log-maxsize=10000".to_owned(),
        ])
    }

    fn file(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// The end of the log at this moment, for [`AuditLog::since`].
    #[must_use]
    pub fn mark(&self) -> AuditMark {
        AuditMark(fs::read(self.file()).map_or(0, |bytes| complete(&bytes).len() as u64))
    }

    /// Returns all requests, in the order in which they arrived.
    pub fn entries(&self) -> Result<Vec<AuditEntry>, Error> {
        self.since(AuditMark::default())
    }

    /// Returns the requests that arrived or ended after `mark`, in the order in which they arrived.
    pub fn since(&self, mark: AuditMark) -> Result<Vec<AuditEntry>, Error> {
        let path = self.file();
        let mut bytes = Vec::new();
        let mut file = File::open(&path).doing("opening", &path)?;
        file.seek(SeekFrom::Start(mark.0)).doing("reading", &path)?;
        file.read_to_end(&mut bytes).doing("reading", &path)?;
        parse(&bytes).map_err(|source| Error::Json { from: path.display().to_string(), source })
    }
}

/// The complete lines: all but a last one that is still being written.
fn complete(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)]
}

fn parse(bytes: &[u8]) -> Result<Vec<AuditEntry>, serde_json::Error> {
    let mut entries: Vec<AuditEntry> = Vec::new();
    let mut by_id: HashMap<String, usize> = HashMap::new();
    for line in complete(bytes).split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let event: Value = serde_json::from_slice(line)?;
        let entry = entry(&event);
        // The later line of a request says all that the earlier one does, and more.
        let next = entries.len();
        match *by_id.entry(text(&event["auditID"]).unwrap_or_default()).or_insert(next) {
            known if known < next => entries[known] = entry,
            _ => entries.push(entry),
        }
    }
    entries.sort_by_key(|entry| entry.received);
    Ok(entries)
}

fn entry(event: &Value) -> AuditEntry {
    let object = &event["objectRef"];
    let group = text(&object["apiGroup"]).map_or_else(String::new, |group| format!(".{group}"));
    let is_lease = object["resource"] == "leases";
    let holder = is_lease.then(|| event["requestObject"]["spec"].get("holderIdentity")).flatten();
    let code = event["responseStatus"]["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    AuditEntry {
        verb: text(&event["verb"]).unwrap_or_default(),
        uri: text(&event["requestURI"]).unwrap_or_default(),
        resource: text(&object["resource"]).map(|resource| resource + &group),
        subresource: text(&object["subresource"]),
        name: text(&object["name"]),
        namespace: text(&object["namespace"]),
        user: text(&event["user"]["username"]).unwrap_or_default(),
        user_agent: text(&event["userAgent"]).unwrap_or_default(),
        received: time(&event["requestReceivedTimestamp"]),
        completed: (event["stage"] != "RequestReceived")
            .then(|| Completed { at: time(&event["stageTimestamp"]), code: code.unwrap_or_default() }),
        // `null` gives a Lease up, too.
        holder: holder.map(|holder| text(holder).unwrap_or_default()),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Reads a time as kube-apiserver writes it: `2026-01-31T23:59:59.123456Z`. The epoch for anything else.
fn time(value: &Value) -> SystemTime {
    let text = value.as_str().unwrap_or_default();
    let number = |range| text.get(range).and_then(|digits: &str| digits.parse::<u64>().ok());
    let since_epoch = || {
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        // A year that begins in March has its leap day at the end.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
        let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
        let seconds = (days.checked_sub(719_469)? * 24 + hour) * 3600 + minute * 60 + second;
        Some(Duration::from_secs(seconds) + Duration::from_micros(number(20..26)?))
    };
    SystemTime::UNIX_EPOCH + since_epoch().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, stage: &str, received: &str) -> String {
        format!(
            r#"{{"auditID":"{id}","stage":"{stage}","verb":"update","requestURI":"/x","user":{{"username":"u"}},"userAgent":"{id}",
            "objectRef":{{"resource":"leases","apiGroup":"coordination.k8s.io","name":"l","namespace":"n"}},"requestReceivedTimestamp":"{received}",
            "stageTimestamp":"2026-01-02T00:00:09.000000Z","responseStatus":{{"code":200}},"requestObject":{{"spec":{{"holderIdentity":"h"}}}}}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn a_request_is_one_entry_and_half_a_line_is_left_for_later() {
        let lines = [
            line("late", "RequestReceived", "2026-01-02T00:00:02.000000Z"),
            line("early", "RequestReceived", "2026-01-02T00:00:01.000000Z"),
            line("late", "ResponseComplete", "2026-01-02T00:00:02.000000Z"),
        ];
        let whole = lines.join("\n") + "\n";
        let more = line("half", "RequestReceived", "2026-01-02T00:00:03.000000Z");
        for end in 0..more.len() {
            let entries = parse(&[whole.as_bytes(), &more.as_bytes()[..end]].concat()).unwrap();
            let found: Vec<_> = entries
                .iter()
                .map(|entry| (&*entry.user_agent, entry.completed.map(|completed| completed.code)))
                .collect();
            assert_eq!(found, [("early", None), ("late", Some(200))]);
            assert_eq!(entries[1].holder.as_deref(), Some("h"));
            assert_eq!(entries[1].resource.as_deref(), Some("leases.coordination.k8s.io"));
        }
        // A broken line in the middle is no half line: nothing may be judged by such a log.
        assert!(parse(format!("{}\n{whole}", &more[..20]).as_bytes()).is_err());
    }

    #[test]
    fn a_write_is_what_could_change_an_object() {
        let cases = [
            ("get", "pods", "/x", false),
            ("watch", "pods", "/x", false),
            ("patch", "pods", "/x?fieldManager=me", true),
            ("patch", "pods", "/x?dryRun=All&fieldManager=me", false),
            ("deletecollection", "pods", "/x", true),
            ("create", "roles.rbac.authorization.k8s.io", "/x", true),
            ("create", "selfsubjectaccessreviews.authorization.k8s.io", "/x", false),
            ("create", "tokenreviews.authentication.k8s.io", "/x", false),
        ];
        for (verb, resource, uri, is_write) in cases {
            let event = serde_json::json!({"verb": verb, "requestURI": uri});
            let entry = AuditEntry { resource: Some(resource.to_owned()), ..entry(&event) };
            assert_eq!(entry.is_write(), is_write, "{verb} {resource} {uri}");
        }
    }

    #[test]
    fn times_are_read_to_the_microsecond() {
        let cases = [
            ("1970-01-01T00:00:00.000000Z", 0),
            ("2000-02-29T23:59:59.999999Z", 951_868_799_999_999),
            ("2000-03-01T00:00:00.000000Z", 951_868_800_000_000),
            ("2026-11-16T04:34:46.000001Z", 1_794_803_686_000_001),
        ];
        for (text, microseconds) in cases {
            let read = time(&text.into()).duration_since(SystemTime::UNIX_EPOCH).unwrap();
            assert_eq!(read, Duration::from_micros(microseconds), "{text}");
        }
    }
}
