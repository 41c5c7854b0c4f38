//! Number formatting.

/// Formats a count in at most five characters, such as `812`, `12.4k` or `3.1M`.
pub fn short_count(count: u64) -> String {
    const UNITS: [(u64, char); 3] = [(1_000_000_000, 'G'), (1_000_000, 'M'), (1_000, 'k')];
    let Some((unit, letter)) = UNITS.into_iter().find(|(unit, _)| count >= *unit) else {
        return count.to_string();
    };
    let tenths = count / (unit / 10);
    if tenths < 1000 {
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    } else {
        format!("{}{letter}", tenths / 10)
    }
}

/// Formats a duration in its two largest units at most, such as `850 ms`, `4.2 s`, `3m 05s` or `2h
/// 10m`.
pub fn short_duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => {
            let tenths = milliseconds % 1000 / 100;
            if tenths == 0 {
                format!("{seconds} s")
            } else {
                format!("{seconds}.{tenths} s")
            }
        }
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats a count with its noun, such as `1 turn` or `3 turns`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        for (count, shown) in [
            (0, "0"),
            (999, "999"),
            (1000, "1.0k"),
            (12_449, "12.4k"),
            (99_999, "99.9k"),
            (100_000, "100k"),
            (999_999, "999k"),
            (3_100_000, "3.1M"),
            (5_000_000_000, "5.0G"),
        ] {
            assert_eq!(short_count(count), shown);
        }
        assert_eq!(counted(1, "turn"), "1 turn");
        assert_eq!(counted(0, "turn"), "0 turns");
    }

    #[test]
    fn durations_are_short() {
        for (milliseconds, shown) in [
            (0, "0 ms"),
            (850, "850 ms"),
            (4000, "4 s"),
            (4250, "4.2 s"),
            (185_000, "3m 05s"),
            (7_800_000, "2h 10m"),
        ] {
            assert_eq!(short_duration(milliseconds), shown);
        }
    }
}
