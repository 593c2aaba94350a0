//! Choices that a seed decides: the same seed asks the same questions on every machine and in every release.

/// A generator of choices (`SplitMix64`: one multiplication chain, no state to get wrong).
///
/// Half of the cases are tidy: nothing in them is odd. One oddity is enough to have a whole file refused, and then
/// nothing behind the refusal would be looked at.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
    tidy: bool,
}

impl Random {
    /// The choices of case number `index` of an operation. Each case has its own, so that one can be repeated
    /// without those before it.
    #[must_use]
    pub fn for_case(seed: u64, operation: &str, index: u64) -> Self {
        let mut random = Self { state: seed, tidy: false };
        for byte in operation.bytes() {
            random.state ^= u64::from(byte);
            random.next();
        }
        random.state ^= index.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        random.tidy = random.one_in(2);
        random
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = limit.max(1) as u64;
        usize::try_from(self.next() % limit).unwrap_or_default()
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// True once in `n` times, but never in a tidy case.
    pub fn odd(&mut self, n: usize) -> bool {
        !self.tidy && self.one_in(n)
    }

    /// One of several.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// Several answers of one kind, at most `most`.
    pub fn several<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_does_not_depend_on_those_before_it() {
        let choices = |index| {
            let mut random = Random::for_case(7, "match", index);
            (random.below(1000), random.below(1000))
        };
        assert_eq!(choices(3), choices(3));
        assert_ne!(choices(3), choices(4));
        assert_ne!(
            Random::for_case(7, "match", 3).below(1 << 30),
            Random::for_case(7, "auth", 3).below(1 << 30)
        );
    }
}
