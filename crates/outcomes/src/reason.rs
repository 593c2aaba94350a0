//! Why a run of the plugin ended as it did.

/// Why a run of the plugin ended as it did. The journal and the counts use the same names, which do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// An auth file is ready for the runtime.
    WroteFile,
    /// An auth file is ready for the pull that brings its ticket.
    WroteTicket,
    /// The answer holds credentials.
    Answered,
    /// The request has no token.
    NoToken,
    /// The image is pulled only from the registry in its name.
    NoMirrors,
    /// No Secret of the namespace matches a source.
    NoCredential,
    /// There are credentials, but the answer cannot carry them safely.
    Withheld,
    /// The request is not one that a kubelet sends.
    BadRequest,
    /// The token cannot be read, has expired, or is not accepted by the API server.
    BadToken,
    /// The node's `registries.conf` is broken.
    BadRegistriesConf,
    /// No API server is known, or it cannot be asked, or it fails.
    NoApiServer,
    /// The Pod's service account may not read Secrets.
    Forbidden,
    /// The Secrets cannot be used, or those that are named do not exist.
    NoSecrets,
    /// The auth file cannot be handed over.
    NoAuthFile,
    /// The answer cannot be written.
    NoAnswer,
}

/// What a reason says about the run.
#[derive(PartialEq, Eq)]
enum Kind {
    Provided,
    Nothing,
    /// It failed for something that the author of the Pod can change.
    FailedForThePod,
    /// It failed for something that is wrong on the node, so that others will fail too.
    FailedOnTheNode,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 15] = [
        Self::WroteFile,
        Self::WroteTicket,
        Self::Answered,
        Self::NoToken,
        Self::NoMirrors,
        Self::NoCredential,
        Self::Withheld,
        Self::BadRequest,
        Self::BadToken,
        Self::BadRegistriesConf,
        Self::NoApiServer,
        Self::Forbidden,
        Self::NoSecrets,
        Self::NoAuthFile,
        Self::NoAnswer,
    ];

    /// Its name: in the journal, as the name of a file, and as the value of a label.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WroteFile => "wrote-file",
            Self::WroteTicket => "wrote-ticket",
            Self::Answered => "answered",
            Self::NoToken => "no-token",
            Self::NoMirrors => "no-mirrors",
            Self::NoCredential => "no-credential",
            Self::Withheld => "withheld",
            Self::BadRequest => "bad-request",
            Self::BadToken => "bad-token",
            Self::BadRegistriesConf => "bad-registries-conf",
            Self::NoApiServer => "no-api-server",
            Self::Forbidden => "forbidden",
            Self::NoSecrets => "no-secrets",
            Self::NoAuthFile => "no-auth-file",
            Self::NoAnswer => "no-answer",
        }
    }

    /// Whether the run handed over a credential.
    #[must_use]
    pub fn provides(self) -> bool {
        self.kind() == Kind::Provided
    }

    /// Whether the run failed. The pull then went on without the plugin.
    #[must_use]
    pub fn fails(self) -> bool {
        matches!(self.kind(), Kind::FailedForThePod | Kind::FailedOnTheNode)
    }

    /// Whether the run failed for something that is wrong on the node, and not for what a Pod or its namespace has.
    #[must_use]
    pub fn blames_the_node(self) -> bool {
        self.kind() == Kind::FailedOnTheNode
    }

    fn kind(self) -> Kind {
        match self {
            Self::WroteFile | Self::WroteTicket | Self::Answered => Kind::Provided,
            Self::NoToken | Self::NoMirrors | Self::NoCredential => Kind::Nothing,
            Self::Withheld | Self::Forbidden | Self::NoSecrets => Kind::FailedForThePod,
            Self::BadRequest
            | Self::BadToken
            | Self::BadRegistriesConf
            | Self::NoApiServer
            | Self::NoAuthFile
            | Self::NoAnswer => Kind::FailedOnTheNode,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Reason;

    #[test]
    fn each_is_listed_once_with_a_name_of_its_own() {
        let names: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), Reason::ALL.len());
        assert!(Reason::ALL.is_sorted(), "in the order in which they are declared");
        // The last one that is declared is listed, so with the order and the length all of them are.
        assert_eq!(Reason::NoAnswer as usize + 1, Reason::ALL.len());
    }

    #[test]
    fn a_name_is_a_file_name_and_the_value_of_a_label() {
        for reason in Reason::ALL {
            let name = reason.name();
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        }
    }
}
