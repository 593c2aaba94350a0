//! How a download continues after a broken connection: interprets the response to a request for the rest.

use hyper::StatusCode;

/// How to use the response to a request for a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resume {
    /// The body is the rest.
    Append,
    /// The body is the whole blob: discard what was there.
    StartOver,
    /// The response is not the requested part of the blob.
    Refused,
}

/// Interprets the response to a request for everything from `offset` of a blob of `size` bytes.
pub(crate) fn judge(status: StatusCode, content_range: Option<&str>, offset: u64, size: u64) -> Resume {
    match status {
        StatusCode::OK => Resume::StartOver,
        StatusCode::PARTIAL_CONTENT if continues(content_range, offset, size) => Resume::Append,
        _ => Resume::Refused,
    }
}

/// Whether a range such as `bytes 5-9/10` begins at the offset and belongs to a blob of that size. Otherwise only the
/// digest of the whole blob would reveal wrong bytes.
fn continues(content_range: Option<&str>, offset: u64, size: u64) -> bool {
    let parts = content_range
        .and_then(|text| text.trim().strip_prefix("bytes "))
        .and_then(|range| range.split_once('/'))
        .and_then(|(range, total)| Some((range.split_once('-')?, total)));
    let Some(((first, last), total)) = parts else {
        return false;
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    number(first) == Some(offset)
        && number(last).is_some_and(|last| last < size)
        && (total.trim() == "*" || number(total) == Some(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: u16, content_range: &str) -> Resume {
        judge(StatusCode::from_u16(status).unwrap(), Some(content_range), 5, 10)
    }

    #[test]
    fn the_rest_is_appended_and_the_whole_starts_over() {
        assert_eq!(judged(206, "bytes 5-9/10"), Resume::Append);
        assert_eq!(judged(206, "bytes 5-7/*"), Resume::Append);
        assert_eq!(judged(200, ""), Resume::StartOver);
    }

    #[test]
    fn bytes_from_elsewhere_are_refused() {
        for wrong in ["bytes 4-9/10", "bytes 5-9/11", "bytes 5-10/10", "5-9/10", "bytes */10", ""] {
            assert_eq!(judged(206, wrong), Resume::Refused, "{wrong}");
        }
        for status in [404, 416, 302] {
            assert_eq!(judged(status, "bytes 5-9/10"), Resume::Refused);
        }
        assert_eq!(judge(StatusCode::PARTIAL_CONTENT, None, 5, 10), Resume::Refused);
    }
}
