//! Where a time axis has its marks, and how durations are written.

/// Distances between marks, in milliseconds: those that people count in.
const STEPS: [u64; 30] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    10_800_000,
    21_600_000,
    43_200_000,
    86_400_000,
    172_800_000,
    604_800_000,
    2_592_000_000,
];

/// The times of the marks between 0 and `length`: at most `most` of them after the first.
pub(crate) fn marks(length: u64, most: u64) -> Vec<u64> {
    let fits = |step: &&u64| length / **step <= most;
    let step = STEPS.iter().find(fits).copied().unwrap_or_else(|| (length / most.max(1)).max(1));
    (0..=length / step).map(|number| number * step).collect()
}

/// A duration in words: "850 ms", "12.3 s", "4 min 5 s", "2 h 3 min", "3 d 4 h".
pub fn duration(millis: u64) -> String {
    let (seconds, minutes, hours) = (millis / 1_000, millis / 60_000, millis / 3_600_000);
    match millis {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{millis} ms"),
        1_000..60_000 if millis.is_multiple_of(1_000) => format!("{seconds} s"),
        1_000..60_000 => format!("{}.{} s", seconds, millis % 1_000 / 100),
        60_000..3_600_000 => pair(minutes, "min", seconds % 60, "s"),
        3_600_000..86_400_000 => pair(hours, "h", minutes % 60, "min"),
        _ => pair(hours / 24, "d", hours % 24, "h"),
    }
}

fn pair(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 { format!("{large} {large_unit}") } else { format!("{large} {large_unit} {small} {small_unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(marks(47_000, 8), [0, 10_000, 20_000, 30_000, 40_000]);
        assert_eq!(marks(0, 8), [0]);
        for length in [1, 7, 999, 12_345, 86_400_000 * 400, u64::MAX] {
            assert!(marks(length, 8).len() <= 9, "{length}");
        }
    }

    #[test]
    fn durations_are_written_for_people() {
        let written = [0, 850, 12_000, 12_340, 245_000, 60_000, 7_380_000, 273_600_000].map(duration);
        assert_eq!(written, ["0 s", "850 ms", "12 s", "12.3 s", "4 min 5 s", "1 min", "2 h 3 min", "3 d 4 h"]);
    }
}
