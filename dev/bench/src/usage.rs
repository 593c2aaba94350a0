//! What a running process takes, by the kernel's account.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The memory of a process now, in bytes.
pub(crate) fn memory(process: u32) -> Result<u64> {
    of_status(process, "VmRSS:")
}

/// The most memory that it ever had, in bytes.
pub(crate) fn peak_memory(process: u32) -> Result<u64> {
    of_status(process, "VmHWM:")
}

/// The CPU time of its first thread.
pub(crate) fn cpu(process: u32) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/schedstat")).context("the CPU time")?;
    let nanoseconds = text.split_whitespace().next().context("no number in schedstat")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

fn of_status(process: u32, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).context("no such line in status")?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kibibytes * 1024)
}
