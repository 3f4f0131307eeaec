//! Keys that follow nothing, and come again with their seed.

/// The same noise for the same seed, on every run: two rounds of splitmix64.
pub(crate) fn noise(seed: u64) -> u128 {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let high = mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
    u128::from(high) << 64 | u128::from(mix(high ^ seed))
}
