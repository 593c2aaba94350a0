//! Logs what went wrong while old auth files were removed. None of it fails a pull, but all of it is worth a look.

use pullwright_handover::Tidying;

use crate::run_log::RunLog;

/// How many files that could not be removed to log one by one.
const SHOWN: usize = 3;

/// Logs everything that went wrong besides the put itself.
pub(crate) fn tell(report: &RunLog, tidying: &Tidying) {
    if let Err(error) = &tidying.sweeper {
        report.passed_over(format_args!("no sweeper for unclaimed files: {error}"));
    }
    let swept = match &tidying.swept {
        Ok(swept) => swept,
        Err(error) => return report.passed_over(error),
    };
    for error in swept.failed.iter().take(SHOWN) {
        report.passed_over(format_args!("not swept: {error}"));
    }
    if swept.failed.len() > SHOWN {
        report.passed_over(format_args!("not swept: {} more", swept.failed.len() - SHOWN));
    }
}
