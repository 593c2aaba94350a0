//! What is told about the tidying around an auth file. None of it is a reason to fail a pull, and all of it is one to look.

use pullwright_handover::Tidying;

use crate::report::Report;

/// How many files that could not be removed are told about one by one.
const SHOWN: usize = 3;

/// Tells what went wrong besides the file that was put.
pub(crate) fn tell(report: &Report, tidying: &Tidying) {
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
