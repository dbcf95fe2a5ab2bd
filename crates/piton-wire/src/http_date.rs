//! Dates as HTTP writes them. They come from outside, so every number is bounded.

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers still send, as seconds since 1970.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let (_, date) = text.trim().split_once(", ")?;
    let mut words = date.split_ascii_whitespace();
    let day: u64 = words.next()?.parse().ok().filter(|day| *day <= 31)?;
    let month_name = words.next()?;
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = 1 + months.iter().position(|name| *name == month_name)? as u64;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let mut clock = words.next()?.split(':').map(str::parse::<u64>);
    let mut next = || clock.next()?.ok().filter(|number| *number <= 60);
    let seconds = next()? * 3600 + next()? * 60 + next()?;
    // Years begin in March here, so that the odd day of a leap year is their last.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + (month * 153 + 2) / 5 + day;
    // Days from March of year 0 to 1970.
    Some(days.checked_sub(719_469)?.checked_mul(86_400)? + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_counted_from_1970() {
        for (date, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Sun, 15 Nov 2026 04:00:00 GMT", Some(1_794_715_200)),
            ("Sunday", None),
            ("Sun, 06 Now 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49", None),
            ("Sun, 06 Nov 99999999999 08:49:37 GMT", None),
            ("Sun, 18446744073709551615 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 18446744073709551615:49:37 GMT", None),
        ] {
            assert_eq!(seconds(date), expected, "{date}");
        }
    }
}
