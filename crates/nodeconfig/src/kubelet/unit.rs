//! The kubelet's systemd unit, and the drop-in that gives it further flags.
//!
//! The drop-in repeats the unit's own command with the flags behind it. Setting a variable that the command happens to expand would be
//! shorter, but kubeadm reads that variable from an `EnvironmentFile`, which wins over every `Environment`, and other distributions expand
//! none. A drop-in that no longer fits the unit, because an upgrade changed it, is found by comparing: see [`ServiceUnit::exec_start`].

use thiserror::Error;

/// What a file begins with that the agent makes for the kubelet.
pub const HEADER: &str = "# Written by pullwright-agent; do not edit.";

/// Why flags cannot be added to a unit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// It has no command of its own.
    #[error("the unit has no ExecStart")]
    NoCommand,
    /// A service of type `oneshot` may have several commands; a kubelet never is one.
    #[error("the unit has {0} ExecStart lines, and flags can be added to one only")]
    SeveralCommands(usize),
    /// The flag cannot be written into a unit as it is.
    #[error("{0:?} has characters that mean something to systemd: use letters, digits and any of -_./=:,@")]
    Flag(String),
}

/// The text of a unit as systemd reads it: the main file, and its drop-ins in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceUnit {
    commands: Vec<String>,
}

impl ServiceUnit {
    /// Reads the files in the order in which systemd does. Leave out a drop-in of ours ([`ServiceUnit::is_ours`]), or the flags are
    /// added to themselves.
    pub fn read<'a>(files: impl IntoIterator<Item = &'a str>) -> Self {
        let mut commands = Vec::new();
        for file in files {
            let mut in_service = false;
            for line in logical_lines(file) {
                if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                    in_service = section == "Service";
                } else if let Some(("ExecStart", value)) =
                    line.split_once('=').map(|(key, value)| (key.trim_end(), value.trim_start()))
                    && in_service
                {
                    if value.is_empty() {
                        // An empty assignment takes back all earlier ones.
                        commands.clear();
                    } else {
                        commands.push(value.to_owned());
                    }
                }
            }
        }
        Self { commands }
    }

    /// Whether a drop-in was written by [`flags_drop_in`].
    #[must_use]
    pub fn is_ours(file: &str) -> bool {
        file.lines().next() == Some(HEADER)
    }

    /// The unit's command as it is written, with its variables.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn exec_start(&self) -> Result<&str, UnitError> {
        match self.commands.as_slice() {
            [] => Err(UnitError::NoCommand),
            [command] => Ok(command),
            commands => Err(UnitError::SeveralCommands(commands.len())),
        }
    }
}

/// The drop-in that adds flags to the command of a unit, and has systemd start another unit before it, if one is `needed`.
///
/// # Errors
/// If the unit has no single command, or if a flag has characters that systemd would interpret.
pub fn flags_drop_in(
    unit: &ServiceUnit,
    flags: &[String],
    needed: Option<&str>,
) -> Result<String, UnitError> {
    let plain = |flag: &&String| {
        flag.starts_with("--") && flag.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@".contains(c))
    };
    if let Some(flag) = flags.iter().find(|flag| !plain(flag)) {
        return Err(UnitError::Flag(flag.clone()));
    }
    let command = unit.exec_start()?;
    let begins = needed.map_or_else(|| format!("{HEADER}\n"), starts_after);
    Ok(format!("{begins}[Service]\nExecStart=\nExecStart={command} {}\n", flags.join(" ")))
}

/// The drop-in that only has systemd start another unit first. It is wanted and not required: what needs it says so itself, and is
/// better off running without it than not at all.
#[must_use]
pub fn starts_after(needed: &str) -> String {
    format!("{HEADER}\n[Unit]\nWants={needed}\nAfter={needed}\n")
}

/// The lines of a unit without comments, with those joined that end in a backslash.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut joined: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        // A comment between two joined lines belongs to neither.
        if trimmed.starts_with('#') || trimmed.starts_with(';') {
            continue;
        }
        let (part, goes_on) =
            trimmed.strip_suffix('\\').map_or((trimmed, false), |part| (part.trim_end(), true));
        let line = match joined.take() {
            Some(before) => format!("{before} {part}"),
            None => part.to_owned(),
        };
        if goes_on {
            joined = Some(line);
        } else if !line.is_empty() {
            lines.push(line);
        }
    }
    lines.extend(joined.filter(|line| !line.is_empty()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBELET: &str = "[Unit]\nDescription=kubelet\nExecStart=/not/this\n\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n";
    const KUBEADM: &str = "# Note: This dropin only works with kubeadm and kubelet v1.11+\n[Service]\n\
        Environment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"\n\
        EnvironmentFile=-/etc/default/kubelet\nExecStart=\nExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS\n";

    fn flags() -> Vec<String> {
        vec!["--image-credential-provider-config=/etc/pullwright/providers".to_owned()]
    }

    #[test]
    fn a_later_file_replaces_the_command_and_the_flags_come_behind_it() {
        let unit = ServiceUnit::read([KUBELET, KUBEADM]);
        assert_eq!(unit.exec_start(), Ok("/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS"));
        let drop_in = flags_drop_in(&unit, &flags(), Some("before.service")).unwrap();
        assert!(drop_in.contains("\nWants=before.service\nAfter=before.service\n[Service]\n"), "{drop_in}");
        assert!(ServiceUnit::is_ours(&drop_in));
        let after = ServiceUnit::read([KUBELET, KUBEADM, &drop_in]);
        assert_eq!(
            after.exec_start(),
            Ok("/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS \
                --image-credential-provider-config=/etc/pullwright/providers")
        );
    }

    #[test]
    fn lines_that_go_on_are_one_command() {
        let minikube =
            "[Service]\nExecStart=\nExecStart=/var/lib/kubelet --a=b \\\n  # not now\n  --c=d\\\n\n";
        assert_eq!(ServiceUnit::read([minikube]).exec_start(), Ok("/var/lib/kubelet --a=b --c=d "));
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        assert_eq!(ServiceUnit::read(["[Service]\nExecStart=\n"]).exec_start(), Err(UnitError::NoCommand));
        let two = ServiceUnit::read(["[Service]\nExecStart=/a\nExecStart=/b\n"]);
        assert_eq!(two.exec_start(), Err(UnitError::SeveralCommands(2)));
        let unit = ServiceUnit::read([KUBELET]);
        for flag in ["--a=$HOME", "--a=%n", "--a b", "--a=\"b\"", "a", "--a=b\nExecStartPost=/evil"] {
            let error = flags_drop_in(&unit, &[flag.to_owned()], None).unwrap_err();
            assert_eq!(error, UnitError::Flag(flag.to_owned()));
        }
    }
}
