//! The runtime's lookup in an auth file.

use pullwright_engine::credentials::{
    AuthFile, DocumentError, LegacyAuthFile, Lookup, LookupError, Sensitive,
};
use pullwright_golang::base64;
use pullwright_golang::quote::quote;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auths::{document, repository};
use crate::operation::{Operation, Report, fewer, without_a_character, without_a_part};
use crate::random::Random;

/// The operation.
pub(super) struct AuthFiles;

/// A file and the repositories looked up in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    pub(super) file: String,
    pub(super) legacy: bool,
    pub(super) keys: Vec<String>,
}

impl Operation for AuthFiles {
    const NAME: &'static str = "auth";
    const OP: &'static str = "auth";
    const BATCH: usize = 1;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        let legacy = random.one_in(6);
        let mut known = Vec::new();
        let file = document(random, legacy, &mut known);
        let keys = (0..8).map(|_| repository(random, &known)).collect();
        Case { file, legacy, keys }
    }

    fn questions(case: &Case) -> usize {
        case.keys.len()
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let file = File::parse(case);
        for (index, key) in case.keys.iter().enumerate() {
            report.answer(|| key.clone(), file.look_up(key), &comparable(&theirs[index]));
        }
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let keys = fewer(&case.keys).into_iter().map(|keys| Case { keys, ..case.clone() });
        let halves = without_a_part(&case.file, ',').into_iter().chain(without_a_character(&case.file));
        keys.chain(halves.map(|file| Case { file, ..case.clone() })).collect()
    }
}

enum File {
    Auths(AuthFile),
    Legacy(LegacyAuthFile),
    Refused(DocumentError),
}

impl File {
    fn parse(case: &Case) -> Self {
        let text = case.file.as_bytes();
        let parsed = if case.legacy {
            LegacyAuthFile::parse(text).map(File::Legacy)
        } else {
            AuthFile::parse(text).map(File::Auths)
        };
        parsed.unwrap_or_else(File::Refused)
    }

    fn look_up(&self, key: &str) -> Value {
        match self {
            Self::Auths(file) => found(file.lookup(key)),
            Self::Legacy(file) => found(file.lookup(key)),
            // A key that is none is refused before the file is opened.
            Self::Refused(error) => match AuthFile::missing().lookup(key) {
                Lookup::Failed(error) => found(Lookup::Failed(error)),
                _ => match error {
                    DocumentError::Syntax(_) => json!({ "refused": "syntax" }),
                    DocumentError::Mismatch(_) => json!({ "refused": "type" }),
                },
            },
        }
    }
}

/// What the engine found, in the words of [`comparable`].
pub(crate) fn found(lookup: Lookup<'_>) -> Value {
    match lookup {
        Lookup::Helper { name } => helper(name),
        Lookup::None { .. } => json!({ "username": "", "password": "", "identitytoken": "" }),
        Lookup::Failed(error) => match error {
            LookupError::Entry { error, .. } => json!({ "error": error.to_string() }),
            error => json!({ "error": error.to_string() }),
        },
        Lookup::Found { credential, .. } => json!({
            "username": text(&credential.username),
            "password": text(credential.password.expose()),
            "identitytoken": credential.identity_token.map(Sensitive::into_exposed).unwrap_or_default(),
        }),
    }
}

/// A text as the Go program gives it: what is not UTF-8 in base64.
pub(super) fn text(bytes: &[u8]) -> Value {
    str::from_utf8(bytes).map_or_else(|_| json!({ "base64": base64::encode(bytes) }), Value::from)
}

/// A helper as Go names it in its error.
pub(super) fn helper(name: &str) -> Value {
    // Only a path is shown without quotes.
    let quoted = if name.contains('/') { name.to_owned() } else { quote(name) };
    json!({ "helper": quoted.trim_matches('"') })
}

/// The Go library's answer, less the words about broken JSON, which are each library's own, and with a helper named
/// instead of not found.
pub(super) fn comparable(theirs: &Value) -> Value {
    let Some(error) = theirs["error"].as_str() else { return theirs.clone() };
    for (start, end) in
        [("err: exec: \"docker-credential-", "\": "), ("err: fork/exec docker-credential-", ": ")]
    {
        if let Some((_, rest)) = error.split_once(start)
            && let Some((name, _)) = rest.rsplit_once(", out: ").and_then(|(name, _)| name.rsplit_once(end))
        {
            return json!({ "helper": name });
        }
    }
    match error.split_once("unmarshaling JSON at \"$DIR/auth.json\": ") {
        Some((_, cause)) if cause.starts_with("json: ") => json!({ "refused": "type" }),
        Some(_) => json!({ "refused": "syntax" }),
        None => json!({ "error": error }),
    }
}
