//! Fate of a request at the faulty proxy. It follows from the seed, the request, and the number of earlier equal
//! requests. So with a seed, each object meets the same faults, in any order of requests.

use std::collections::BTreeMap;
use std::time::Duration;

/// The kinds of requests with different faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Read,
    Watch,
    Write,
}

/// Number of events in a slow watch.
pub(crate) const SLOW_EVENTS: u32 = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    /// Answered with this status code; the API server does not see it.
    Refused(u16),
    /// Forwarded after this delay. In a watch, each event is delayed, and the watch ends after [`SLOW_EVENTS`].
    Slow(Duration),
    /// The API server executes it, but the connection breaks before the response.
    Lost,
    /// The connection breaks inside the event after this number.
    Broken(u32),
    /// After this number of events, the watch reports an expired resource version.
    Expired(u32),
    /// The watch ends normally after this number of events.
    Ended(u32),
}

impl Fate {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pass => "passed",
            Self::Refused(409) => "409",
            Self::Refused(410) => "410",
            Self::Refused(429) => "429",
            Self::Refused(_) => "500",
            Self::Slow(_) => "slow",
            Self::Lost => "answer lost",
            Self::Broken(_) => "watch broken",
            Self::Expired(_) => "watch expired",
            Self::Ended(_) => "watch ended",
        }
    }
}

/// Percentages of faults by class; the rest passes.
pub(crate) fn rates(class: Class) -> &'static [(u64, &'static str)] {
    match class {
        Class::Read => &[(10, "429"), (10, "500"), (5, "410"), (10, "slow"), (10, "answer lost")],
        Class::Watch => &[
            (5, "429"),
            (5, "500"),
            (15, "410"),
            (15, "slow"),
            (20, "watch broken"),
            (20, "watch expired"),
            (20, "watch ended"),
        ],
        Class::Write => &[(5, "429"), (5, "500"), (5, "409"), (5, "slow"), (5, "answer lost")],
    }
}

pub(crate) struct Plan {
    seed: u64,
    made: BTreeMap<String, u64>,
}

impl Plan {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, made: BTreeMap::new() }
    }

    /// The fate of the next request with this method and path.
    pub(crate) fn draw(&mut self, class: Class, method: &str, path: &str) -> Fate {
        let request = format!("{class:?} {method} {path}");
        let first = self.seed ^ hash(&request);
        let count = self.made.entry(request).or_default();
        let made = *count;
        *count += 1;
        let mut random = Random::new(first);
        random.skip(made);
        let mut random = Random::new(random.next());
        let mut number = match class {
            // Watches are few: this spreads the frequent fates over them.
            Class::Watch => (first % 100 + made * 61) % 100,
            _ => random.below(100),
        };
        for (share, name) in rates(class) {
            if number < *share {
                return fate(name, class, &mut random);
            }
            number -= share;
        }
        Fate::Pass
    }
}

fn fate(name: &str, class: Class, random: &mut Random) -> Fate {
    match name {
        "slow" if class == Class::Watch => Fate::Slow(Duration::from_millis(20 + random.below(180))),
        "slow" => Fate::Slow(Duration::from_millis(100 + random.below(900))),
        "answer lost" => Fate::Lost,
        "watch broken" => Fate::Broken(random.events()),
        "watch expired" => Fate::Expired(random.events()),
        "watch ended" => Fate::Ended(random.events()),
        code => Fate::Refused(code.parse().unwrap_or(500)),
    }
}

fn hash(text: &str) -> u64 {
    // FNV-1a.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn skip(&mut self, count: u64) {
        self.0 = self.0.wrapping_add(Self::STEP.wrapping_mul(count));
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.skip(1);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn events(&mut self) -> u32 {
        u32::try_from(self.below(20)).unwrap_or_default()
    }
}
