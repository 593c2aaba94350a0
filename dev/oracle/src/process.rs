//! The Go program: started, asked in lines, answered in lines.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;

use serde_json::Value;

/// How many batches may be on their way, so that neither side waits for the other.
const AHEAD: usize = 64;

/// Why the Go program gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It is not there, or not a program.
    #[error("starting the oracle {path}: {source}; build it with `go build` in the folder `oracle`")]
    Start {
        /// What was started.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A pipe broke.
    #[error("talking to the oracle: {0}")]
    Pipe(#[from] io::Error),
    /// It ended in the middle.
    #[error("the oracle ended without answering: {request}")]
    Ended {
        /// What it was asked.
        request: String,
    },
    /// A case to be asked again is none of that operation.
    #[error("reading the case {case}: {source}")]
    Case {
        /// What was given.
        case: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Its answer is not JSON.
    #[error("reading the oracle's answer {line:?}: {source}")]
    Answer {
        /// The answer.
        line: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A running Go program.
pub struct Oracle {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// One line to ask, and what the asker keeps until the answer comes.
pub struct Batch<T> {
    /// The request, without the end of the line.
    pub line: String,
    /// What comes back with the answer.
    pub kept: T,
}

impl Oracle {
    /// Starts the program at `path`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(path: &Path) -> Result<Self, ProcessError> {
        let start = |source| ProcessError::Start { path: path.to_owned(), source };
        let mut child =
            Command::new(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(start)?;
        let missing = || start(io::Error::other("no pipe"));
        let input = child.stdin.take();
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().ok_or_else(missing)?);
        Ok(Self { child, input, output })
    }

    /// Asks one question and waits.
    ///
    /// # Errors
    /// If the program does not answer.
    pub fn ask(&mut self, line: &str) -> Result<Value, ProcessError> {
        if let Some(input) = &mut self.input {
            send(input, line)?;
        }
        answer(&mut self.output, line)
    }

    /// Asks all of `batches`, which a thread of its own makes and writes, and hands over each with its answer.
    ///
    /// # Errors
    /// If the program does not answer one of them.
    pub fn ask_all<T: Send>(
        mut self,
        batches: impl Iterator<Item = Batch<T>> + Send,
        mut each: impl FnMut(T, Value),
    ) -> Result<(), ProcessError> {
        let Some(mut input) = self.input.take() else { return Ok(()) };
        let (sender, receiver) = sync_channel(AHEAD);
        thread::scope(|scope| {
            scope.spawn(move || {
                for batch in batches {
                    // Each line is written whole before it is announced: whoever waits for its answer gets it. If
                    // one side is gone there is nobody to tell; the reader sees the end of the stream.
                    if send(&mut input, &batch.line).is_err() || sender.send(batch).is_err() {
                        break;
                    }
                }
            });
            for batch in receiver {
                let value = answer(&mut self.output, &batch.line)?;
                each(batch.kept, value);
            }
            Ok(())
        })
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It ends at the end of its input, and clears its files away.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn send(input: &mut ChildStdin, line: &str) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(line.len() + 1);
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    input.write_all(&bytes)
}

fn answer(output: &mut BufReader<ChildStdout>, request: &str) -> Result<Value, ProcessError> {
    let mut line = String::new();
    if output.read_line(&mut line)? == 0 {
        return Err(ProcessError::Ended { request: request.to_owned() });
    }
    serde_json::from_str(&line).map_err(|source| ProcessError::Answer { line, source })
}
